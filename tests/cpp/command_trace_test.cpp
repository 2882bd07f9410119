// The CSV of DRAM commands: its fields, and what is left behind when writing fails.

#include "sim/machine/command_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/error.h"

namespace nearfar::sim {
namespace test_file {

namespace fs = std::filesystem;
using dram::Command;

const std::string header = "time_ps,device,channel,rank,bank_group,bank,command,row,column\n";

/// A folder of its own for each test, removed afterwards.
class CommandTraceTest : public ::testing::Test {
 protected:
  CommandTraceTest()
      : folder_(fs::temp_directory_path() /
                ("nearfar_command_trace_" + std::to_string(::getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(folder_);
  }
  ~CommandTraceTest() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path file() const { return folder_ / "commands.csv"; }
  [[nodiscard]] std::string text() const {
    std::ifstream stream(file(), std::ios::binary);
    std::ostringstream all;
    all << stream.rdbuf();
    return all.str();
  }
  [[nodiscard]] bool folder_is_empty() const { return fs::is_empty(folder_); }

  fs::path folder_;
};

dram::CommandRecord command(Command command) {
  return {.time = Tick(833),
          .command = command,
          .channel = 1,
          .rank = 2,
          .bank_group = 3,
          .bank = 0,
          .row = 70000,
          .column = 8};
}

TEST_F(CommandTraceTest, FieldsThatACommandDoesNotHaveAreBlank) {
  CommandTrace trace(file());
  dram::CommandLog& log = trace.log_for("dram");
  for (const Command each :
       {Command::act, Command::pre, Command::prea, Command::rd, Command::rda, Command::wr,
        Command::wra, Command::ref, Command::pde, Command::pdx, Command::sre, Command::srx}) {
    log.record(command(each));
  }
  trace.close();
  EXPECT_EQ(text(), header +
                        "833,dram,1,2,3,0,ACT,70000,\n"
                        "833,dram,1,2,3,0,PRE,,\n"
                        "833,dram,1,2,,,PREA,,\n"
                        "833,dram,1,2,3,0,RD,,8\n"
                        "833,dram,1,2,3,0,RDA,,8\n"
                        "833,dram,1,2,3,0,WR,,8\n"
                        "833,dram,1,2,3,0,WRA,,8\n"
                        "833,dram,1,2,,,REF,,\n"
                        "833,dram,1,2,,,PDE,,\n"
                        "833,dram,1,2,,,PDX,,\n"
                        "833,dram,1,2,,,SRE,,\n"
                        "833,dram,1,2,,,SRX,,\n");
}

TEST_F(CommandTraceTest, EveryDeviceHasItsNameInItsRows) {
  CommandTrace trace(file());
  dram::CommandLog& host = trace.log_for("dram");
  dram::CommandLog& dimm = trace.log_for("nvdimm");
  host.record(command(Command::ref));
  dimm.record(command(Command::ref));
  trace.close();
  EXPECT_EQ(text(), header + "833,dram,1,2,,,REF,,\n833,nvdimm,1,2,,,REF,,\n");
}

TEST_F(CommandTraceTest, ACommandTraceLosesNothingBeyondItsBuffer) {
  constexpr std::uint64_t rows = 200'000;  // several MB
  CommandTrace trace(file());
  dram::CommandLog& log = trace.log_for("dram");
  for (std::uint64_t i = 0; i < rows; ++i) {
    dram::CommandRecord record = command(Command::act);
    record.time = Tick(i * 1'000'000'007);
    record.row = static_cast<std::uint32_t>(i);
    log.record(record);
  }
  trace.close();
  std::istringstream lines(text());
  std::string line;
  std::getline(lines, line);
  for (std::uint64_t i = 0; i < rows; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    ASSERT_EQ(line,
              std::to_string(i * 1'000'000'007) + ",dram,1,2,3,0,ACT," + std::to_string(i) + ",");
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(CommandTraceTest, TheLargestNumbersFit) {
  CommandTrace trace(file());
  trace.log_for("dram").record({.time = Tick::never(),
                                .command = Command::act,
                                .channel = 255,
                                .rank = 255,
                                .bank_group = 255,
                                .bank = 255,
                                .row = ~std::uint32_t{0},
                                .column = 0});
  trace.close();
  EXPECT_EQ(text(), header + "18446744073709551615,dram,255,255,255,255,ACT,4294967295,\n");
}

TEST_F(CommandTraceTest, NothingIsLeftOfARunThatDidNotClose) {
  {
    CommandTrace trace(file());
    trace.log_for("dram").record(command(Command::act));
    EXPECT_FALSE(fs::exists(file()));
  }
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(CommandTraceTest, AnOlderFileStaysUntilTheNewOneIsWhole) {
  std::ofstream(file()) << "old";
  {
    CommandTrace abandoned(file());
  }
  EXPECT_EQ(text(), "old");
  CommandTrace trace(file());
  trace.close();
  EXPECT_EQ(text(), header);
}

TEST_F(CommandTraceTest, AClosedTraceDoesNotDisturbTheNextOneOfItsName) {
  auto first = std::make_unique<CommandTrace>(file());
  first->close();
  CommandTrace second(file());
  first.reset();
  second.log_for("dram").record(command(Command::ref));
  second.close();
  EXPECT_EQ(text(), header + "833,dram,1,2,,,REF,,\n");
}

TEST_F(CommandTraceTest, AFileThatCannotBeCreatedIsAnInputError) {
  const auto complaint = [](const fs::path& path) -> std::string {
    try {
      CommandTrace trace(path);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(folder_),
            folder_.string() + ": is a folder, expected a file to write commands to");
  const fs::path nowhere = folder_ / "missing" / "commands.csv";
  EXPECT_EQ(complaint(nowhere),
            nowhere.string() + ": cannot be written: No such file or directory");
}

TEST_F(CommandTraceTest, AFullDiskIsReported) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  CommandTrace trace("/dev/full");
  dram::CommandLog& log = trace.log_for("dram");
  log.record(command(Command::act));
  EXPECT_THROW(trace.close(), std::system_error);

  CommandTrace long_trace("/dev/full");
  dram::CommandLog& long_log = long_trace.log_for("dram");
  EXPECT_THROW(for (int i = 0; i < 100'000; ++i) long_log.record(command(Command::act)),
               std::system_error);
}

TEST_F(CommandTraceTest, LoggingAfterCloseIsAMistake) {
  CommandTrace trace(file());
  dram::CommandLog& log = trace.log_for("dram");
  trace.close();
  EXPECT_THROW(log.record(command(Command::act)), std::logic_error);
}

}  // namespace test_file
}  // namespace nearfar::sim
