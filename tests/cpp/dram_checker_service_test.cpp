// Does the check that commands serve the requests notice when they do not?

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "checker/rules.h"
#include "checker/scenarios.h"
#include "checker/script.h"
#include "checker/service.h"

namespace nearfar::checker {
namespace test_file {

// One bank, row 5, and the mapping row-rank-bank-column-bank_group: rank 0, bank 0, column 16
// and bank group 0 are line (5 * 2 * 4 * 128 + 2) * 4 = 20488.
class Service : public testing::Test {
 protected:
  static constexpr std::uint64_t line = 20488;
  static constexpr std::uint64_t data_after = 19 + 4;

  static Served read(std::uint64_t sent, std::uint64_t done) {
    return {line, false, sent * 750, done * 750};
  }
  static Served write(std::uint64_t sent) { return {line, true, sent * 750, sent * 750}; }

  static std::string complaint(const Trace& trace, const std::vector<Served>& requests) {
    const auto all =
        check_service(trace, ddr4_2666v(), "row-rank-bank-column-bank_group", requests);
    return all.empty() ? "" : all.front();
  }

  static Script opened() { return Script(750).act(100, {}, 5); }
  static Trace with(Script script, std::vector<std::pair<std::uint64_t, Command>> accesses,
                    std::uint32_t column = 16) {
    Trace trace = script;
    for (const auto& [clock, command] : accesses) {
      trace.push_back({clock * 750, command, 0, 0, 0, {}, column});
    }
    return trace;
  }
};

TEST_F(Service, TheCheckerAcceptsReadsAndWritesOfTheRightLine) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}), {read(90, 150 + data_after)}), "");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}}), {write(90)}), "");
  // Two writes merged; a read out of the write queue; one of what was written.
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}, {200, Command::rda}}),
                      {write(90), write(91), read(92, 93), read(160, 200 + data_after)}),
            "");
}

TEST_F(Service, TheCheckerRefusesAnotherColumnThanAsked) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}, 24), {read(90, 150 + data_after)}),
            "line 20488: a read was answered by no access");
}

TEST_F(Service, TheCheckerRefusesAnswersAtAnotherTimeThanTheData) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}), {read(90, 150 + data_after - 1)}),
            "line 20488: a read was answered by no access");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}), {read(150, 150 + data_after)}),
            "line 20488: accessed before it was asked for");
}

TEST_F(Service, TheCheckerRefusesAnswersOutOfAnEmptyWriteQueue) {
  EXPECT_EQ(complaint({}, {read(90, 91)}), "line 20488: a read was answered by no access");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}}), {write(90), read(100, 140)}),
            "line 20488: a read was answered by no access");
}

TEST_F(Service, TheCheckerTakesTheRowFromTheBankThatIsAccessed) {
  const Script script =
      Script(750).act(100, {}, 5).act(104, {1, 0}, 6).act(111, {0, 1}, 7).act(115, {0, 0, 1}, 8);
  EXPECT_EQ(complaint(with(script, {{150, Command::rd}}), {read(90, 150 + data_after)}), "");
}

TEST_F(Service, TheCheckerRefusesAccessesWithoutARequest) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}, {160, Command::rd}}),
                      {read(90, 150 + data_after)}),
            "line 20488: read without being asked");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}, {160, Command::wr}}), {write(90)}),
            "line 20488: written more often than asked");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}), {}),
            "line 20488: accessed without being asked");
}

TEST_F(Service, TheCheckerRefusesWritesThatAreNeverDone) {
  EXPECT_EQ(complaint({}, {write(90)}), "line 20488: a write was accepted and never done");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}}), {write(90), write(160)}),
            "line 20488: a write was accepted and never done");
}

TEST_F(Service, TheCheckerRefusesReadsThatMissAWrite) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}, {170, Command::wr}}),
                      {write(90), read(100, 150 + data_after)}),
            "line 20488: a read missed a write");
}

}  // namespace test_file
}  // namespace nearfar::checker
