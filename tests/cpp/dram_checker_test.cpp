// Does the checker itself work? For every rule there are two traces a clock, or one state,
// apart: the checker must accept the first, name exactly that rule for the second, and,
// with that rule alone switched off, accept the second as well.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "checker/checker.h"
#include "checker/machines.h"
#include "checker/scenarios.h"
#include "checker/script.h"
#include "checker/service.h"
#include "checker/speed_bins.h"
#include "checker/tight_script.h"

namespace nearfar::checker {
namespace {

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all = distance_scenarios();
  for (auto& s : state_scenarios()) all.push_back(s);
  for (auto& s : refresh_scenarios()) all.push_back(s);
  return all;
}

std::string listed(const Findings& findings, const Trace& trace) {
  std::string text;
  std::size_t shown = 0;
  for (const Violation& violation : findings.violations) {
    text += "\n  " + describe(violation, trace);
    if (++shown == 10) break;
  }
  return text;
}

RuleSet only(Rule rule) {
  RuleSet rules;
  rules.add(rule);
  return rules;
}

TEST(DramChecker, EveryRuleHasAScenarioThatBreaksIt) {
  std::set<Rule> covered;
  for (const Scenario& s : all_scenarios()) covered.insert(s.rule);
  for (std::size_t i = 0; i < rule_count; ++i) {
    EXPECT_TRUE(covered.contains(static_cast<Rule>(i))) << name(static_cast<Rule>(i));
  }
}

class CheckerScenario : public testing::TestWithParam<Scenario> {};

TEST_P(CheckerScenario, LegalTracePasses) {
  const Scenario& s = GetParam();
  const Findings findings = check(s.legal, s.limits);
  EXPECT_TRUE(findings.passes()) << listed(findings, s.legal);
}

TEST_P(CheckerScenario, BrokenTraceBreaksThatRuleAndNoOther) {
  const Scenario& s = GetParam();
  const Findings findings = check(s.broken, s.limits);
  EXPECT_EQ(findings.broken(), only(s.rule)) << listed(findings, s.broken);
  for (const Violation& violation : findings.violations) {
    EXPECT_LT(violation.earlier.value_or(0), std::max<std::size_t>(violation.at, 1));
  }
}

TEST_P(CheckerScenario, WithoutThatRuleBrokenTracePasses) {
  const Scenario& s = GetParam();
  EXPECT_TRUE(check(s.broken, s.limits, RuleSet::all().without(s.rule)).passes());
}

std::string scenario_name(const testing::TestParamInfo<Scenario>& info) {
  return std::string(name(info.param.rule)) + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Rules, CheckerScenario, testing::ValuesIn(all_scenarios()), scenario_name);

class TightScenario : public testing::TestWithParam<Scenario> {};

TEST_P(TightScenario, LegalTraceHasNothingToSpare) {
  const Scenario& s = GetParam();
  EXPECT_GT(check(s.legal, s.limits).tight_count(s.rule), 0u);
}

INSTANTIATE_TEST_SUITE_P(Distances, TightScenario, testing::ValuesIn(distance_scenarios()),
                         scenario_name);
INSTANTIATE_TEST_SUITE_P(Refresh, TightScenario, testing::ValuesIn(refresh_scenarios()),
                         scenario_name);

TEST(DramChecker, NamesBothCommandsAndBothDistances) {
  const Limits limits = ddr4_2666v();
  const Trace trace = Script(750).act(100, {2, 3, 1}, 77).rd(118, {2, 3, 1}, 77, 8);
  const Findings findings = check(trace, limits);
  ASSERT_EQ(findings.violations.size(), 1u);
  EXPECT_EQ(describe(findings.violations[0], trace),
            "tRCD: RD rank 1 group 2 bank 3 row 77 column 8 at 88500 ps, after "
            "ACT rank 1 group 2 bank 3 row 77 at 75000 ps: 18 clocks, limit 19");
}

TEST(DramChecker, NamesADistanceInsideABankGroupForTheGroupHoweverShort) {
  const Limits limits = ddr4_2666v();
  const Script::Bank first{0, 0};
  const Script::Bank second{0, 1};
  const Trace activates = Script(750).act(100, first).act(101, second);
  EXPECT_EQ(check(activates, limits).broken(), only(Rule::tRRD_L));
  const Trace write_read =
      Script(750).act(100, first).act(150, second).wr(200, first).rd(210, second);
  EXPECT_EQ(check(write_read, limits).broken(), only(Rule::tWTR_L));
  const RuleSet without_bus = RuleSet::all().without(Rule::data_bus);
  const Trace reads = Script(750).act(100, first).rd(200, first).rd(201, first);
  EXPECT_EQ(check(reads, limits, without_bus).broken(), only(Rule::tCCD_L));
  const Trace writes = Script(750).act(100, first).wr(200, first).wr(201, first);
  EXPECT_EQ(check(writes, limits, without_bus).broken(), only(Rule::tCCD_L));
}

TEST(DramChecker, NamesABubbleMissingAltogether) {
  const Trace back_to_back =
      Script(750).act(100, {0, 0, 0}).act(101, {0, 0, 1}).rd(200, {0, 0, 0}).rd(204, {0, 0, 1});
  EXPECT_EQ(check(back_to_back, ddr4_2666v()).broken(), only(Rule::tRTRS));
}

TEST(DramChecker, ComparesCommandsOfOneClockToo) {
  const Trace together = Script(750).act(100, {0, 0}).act(100, {1, 0});
  RuleSet both = only(Rule::command_bus);
  both.add(Rule::tRRD_S);
  EXPECT_EQ(check(together, ddr4_2666v()).broken(), both);
}

TEST(DramChecker, ExpectsRefreshUpToTheEndOfTheTrace) {
  Limits limits = ddr4_2666v();
  limits.ranks = 1;
  const std::uint64_t last = 9 * limits.refi;
  EXPECT_TRUE(check(Script(750).act(last, {}), limits).passes());
  const RuleSet broken = check(Script(750).act(last + 1, {}), limits).broken();
  EXPECT_TRUE(broken.has(Rule::refresh_postponed));
  EXPECT_TRUE(broken.has(Rule::refresh_gap));
}

TEST(DramChecker, ExpectsNoRefreshOfARankInSelfRefresh) {
  Limits limits = ddr4_2666v();
  limits.ranks = 1;
  const std::uint64_t wake = 1000 * limits.refi;
  const Trace slept = Script(750).sre(100).srx(wake).ref(wake + 9 * limits.refi);
  EXPECT_TRUE(check(slept, limits).passes());
  const Trace overslept = Script(750).sre(100).srx(wake).ref(wake + 9 * limits.refi + 1);
  EXPECT_FALSE(check(overslept, limits).passes());
}

TEST(DramChecker, KeepsPostponedRefreshesOwedAcrossSelfRefresh) {
  Limits limits = ddr4_2666v();
  limits.ranks = 1;
  const std::uint64_t refi = limits.refi;
  const std::uint64_t wake = 1000 * refi;
  // Three and a half tREFI have passed: the device settles the half, three are owed.
  const auto trace = [&](std::uint64_t later) {
    return Script(750).sre(3 * refi + refi / 2).srx(wake).ref(wake + later);
  };
  EXPECT_TRUE(check(trace(6 * refi), limits).passes());
  EXPECT_TRUE(check(trace(6 * refi + 1), limits).broken().has(Rule::refresh_postponed));
}

TEST(DramChecker, DoesNotCountTheRefreshAfterSelfRefreshAsPulledIn) {
  Limits limits = ddr4_2666v();
  limits.ranks = 1;
  Script script(750);
  for (std::uint64_t i = 0; i < 12; ++i) {
    script.sre(3000 * i + 1000).srx(3000 * i + 1100).ref(3000 * i + 1600);
  }
  EXPECT_TRUE(check(script, limits).passes());
}

TEST(DramChecker, ExpectsNoRefreshWhenRefreshIsOff) {
  Limits limits = ddr4_2666v();
  limits.refi = 0;
  EXPECT_TRUE(check(Script(750).act(1'000'000, {}), limits).passes());
}

// A reader of the standard in the other direction: TightScript keeps, for every command,
// the earliest clock at which it may follow, and always uses exactly that one. The two views
// must agree on every command: legal there, illegal one clock earlier, and for the same rules.
class TightScripts : public testing::TestWithParam<Device> {};

TEST_P(TightScripts, AreLegalAndNotOneClockEarlier) {
  Limits limits = speed_bin(GetParam());
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    limits.ranks = 1 + seed % 4;
    const TightScript script(limits, seed, 250);
    const Trace& trace = script.trace();
    const Findings findings = check(trace, limits);
    ASSERT_TRUE(findings.passes()) << "seed " << seed << listed(findings, trace);

    Trace prefix;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      prefix.push_back(trace[i]);
      if (script.bound_by(i) == RuleSet{}) continue;
      prefix.back().ps -= limits.clock_ps;
      const Findings early = check(prefix, limits);
      ASSERT_EQ(early.broken(), script.bound_by(i))
          << "seed " << seed << ", command " << i << listed(early, prefix);
      prefix.back() = trace[i];
    }
  }
}

TEST_P(TightScripts, MeetEveryDistanceTightly) {
  Limits limits = speed_bin(GetParam());
  limits.ranks = 2;
  Findings total;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const TightScript script(limits, seed, 2000);
    const Findings findings = check(script.trace(), limits);
    ASSERT_TRUE(findings.passes()) << listed(findings, script.trace());
    for (std::size_t i = 0; i < rule_count; ++i) total.tight[i] += findings.tight[i];
  }
  for (const Scenario& s : distance_scenarios()) {
    EXPECT_GT(total.tight_count(s.rule), 0u) << name(s.rule);
  }
  EXPECT_GT(total.tight_count(Rule::refresh_pulled_in), 0u);
}

INSTANTIATE_TEST_SUITE_P(SpeedBins, TightScripts,
                         testing::Values(Device{2400, 4, 4}, Device{2666, 8, 8},
                                         Device{2933, 16, 8}, Device{3200, 8, 16}),
                         [](const testing::TestParamInfo<Device>& info) {
                           return "DDR4_" + std::to_string(info.param.rate) + "_x" +
                                  std::to_string(info.param.width);
                         });

TEST(SpeedBins, AgreeWithTheNumbersInWriting) {
  Limits bin = speed_bin({2666, 8, 8});
  const Limits written = ddr4_2666v();
  EXPECT_EQ(bin.ras, written.ras);
  EXPECT_EQ(bin.rc, written.rc);
  EXPECT_EQ(bin.ccd_l, written.ccd_l);
  EXPECT_EQ(bin.rrd_s, written.rrd_s);
  EXPECT_EQ(bin.rrd_l, written.rrd_l);
  EXPECT_EQ(bin.faw, written.faw);
  EXPECT_EQ(bin.wtr_s, written.wtr_s);
  EXPECT_EQ(bin.wtr_l, written.wtr_l);
  EXPECT_EQ(bin.wr, written.wr);
  EXPECT_EQ(bin.rtp, written.rtp);
  EXPECT_EQ(bin.rfc, written.rfc);
  EXPECT_EQ(bin.refi, written.refi);
  EXPECT_EQ(bin.xp, written.xp);
  EXPECT_EQ(bin.cke, written.cke);
  EXPECT_EQ(bin.ckesr, written.ckesr);
  EXPECT_EQ(bin.xs, written.xs);
  EXPECT_EQ(bin.rows, written.rows);
}

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

TEST_F(Service, AcceptsReadsAndWritesOfTheRightLine) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}), {read(90, 150 + data_after)}), "");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}}), {write(90)}), "");
  // Two writes merged; a read out of the write queue; one of what was written.
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}, {200, Command::rda}}),
                      {write(90), write(91), read(92, 93), read(160, 200 + data_after)}),
            "");
}

TEST_F(Service, RefusesAnotherColumnThanAsked) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}, 24), {read(90, 150 + data_after)}),
            "line 20488: a read was answered by no access");
}

TEST_F(Service, RefusesAnswersAtAnotherTimeThanTheData) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}), {read(90, 150 + data_after - 1)}),
            "line 20488: a read was answered by no access");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}), {read(150, 150 + data_after)}),
            "line 20488: accessed before it was asked for");
}

TEST_F(Service, RefusesAccessesThatNobodyAsked) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}, {160, Command::rd}}),
                      {read(90, 150 + data_after)}),
            "line 20488: read without being asked");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}, {160, Command::wr}}), {write(90)}),
            "line 20488: written more often than asked");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}}), {}),
            "line 20488: accessed without being asked");
}

TEST_F(Service, RefusesWritesThatAreNeverDone) {
  EXPECT_EQ(complaint({}, {write(90)}), "line 20488: a write was accepted and never done");
  EXPECT_EQ(complaint(with(opened(), {{150, Command::wr}}), {write(90), write(160)}),
            "line 20488: a write was accepted and never done");
}

TEST_F(Service, RefusesReadsThatMissAWrite) {
  EXPECT_EQ(complaint(with(opened(), {{150, Command::rd}, {170, Command::wr}}),
                      {write(90), read(100, 150 + data_after)}),
            "line 20488: a read missed a write");
}

constexpr const char* csv_header =
    "time_ps,device,channel,rank,bank_group,bank,command,row,column\n";

TEST(CommandTraceCsv, IsReadByDeviceAndChannel) {
  std::istringstream in(std::string(csv_header) +
                        "75000,dram,0,1,2,3,ACT,77,\n"
                        "76500,dimm0,0,0,,,REF,,\n"
                        "88500,dram,0,1,2,3,RD,,8\n");
  const TraceFile traces = read_csv(in);
  ASSERT_EQ(traces.size(), 2u);
  const Trace& dram = traces.at({"dram", 0});
  ASSERT_EQ(dram.size(), 2u);
  EXPECT_EQ(dram[0].row, 77u);
  EXPECT_FALSE(dram[1].row.has_value());
  EXPECT_EQ(check(dram, ddr4_2666v()).broken(), only(Rule::tRCD));
  EXPECT_TRUE(check(traces.at({"dimm0", 0}), ddr4_2666v()).passes());
}

TEST(CommandTraceCsv, RefusesWhatIsNoTrace) {
  const auto message = [](const std::string& text) -> std::string {
    std::istringstream in(text);
    try {
      (void)read_csv(in);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string header(csv_header);
  EXPECT_EQ(message(""), "command trace is empty: not even a header");
  EXPECT_EQ(message("time,rank\n"),
            "command trace, line 1: expected the header "
            "time_ps,device,channel,rank,bank_group,bank,command,row,column");
  EXPECT_EQ(message(header + "1,d,0,0,0,0,ACT,1\n"), "command trace, line 2: expected 9 fields");
  EXPECT_EQ(message(header + "1,d,0,0,0,0,ACT,1,,\n"), "command trace, line 2: expected 9 fields");
  EXPECT_EQ(message(header + "1,d,0,0,0,0,REFSB,,\n"),
            "command trace, line 2: unknown DDR4 command 'REFSB'");
  EXPECT_EQ(message(header + "x,d,0,0,,,REF,,\n"),
            "command trace, line 2: time_ps is 'x', expected a whole number");
  EXPECT_EQ(message(header + "1,d,0,0,0,0,ACT,,\n"),
            "command trace, line 2: row of an ACT is blank");
  EXPECT_EQ(message(header + "1,d,0,0,0,,PRE,,\n"), "command trace, line 2: bank is blank");
}

TEST(LimitsFromSettings, AreThoseThatTheSettingsState) {
  Machine machine;
  machine.ranks = 3;
  for (const Device& device : {Device{2400, 4, 4}, Device{2933, 16, 8}, Device{3200, 8, 16}}) {
    machine.device = device;
    EXPECT_EQ(limits_from("# exported\n" + machine.settings("nvdimm.dram."), "nvdimm.dram"),
              machine.limits());
  }
  const std::string off = machine.settings("dram.") + "dram.refresh.enabled = false\n";
  EXPECT_EQ(limits_from(off, "dram.").refi, 0u);
}

TEST(LimitsFromSettings, TakeEachTimingFromItsOwnKey) {
  const std::pair<const char*, std::uint64_t Limits::*> timings[] = {
      {"cl", &Limits::cl},       {"cwl", &Limits::cwl},     {"rcd", &Limits::rcd},
      {"rp", &Limits::rp},       {"ras", &Limits::ras},     {"rc", &Limits::rc},
      {"ccd_s", &Limits::ccd_s}, {"ccd_l", &Limits::ccd_l}, {"rrd_s", &Limits::rrd_s},
      {"rrd_l", &Limits::rrd_l}, {"faw", &Limits::faw},     {"wtr_s", &Limits::wtr_s},
      {"wtr_l", &Limits::wtr_l}, {"wr", &Limits::wr},       {"rtp", &Limits::rtp},
      {"rfc", &Limits::rfc},     {"refi", &Limits::refi},   {"xp", &Limits::xp},
      {"cke", &Limits::cke},     {"ckesr", &Limits::ckesr}, {"xs", &Limits::xs},
      {"rtrs", &Limits::rtrs},   {"dllk", &Limits::xsdll},
  };
  std::string settings = Machine{}.settings("dram.");
  std::uint64_t value = 1000;
  for (const auto& [key, member] : timings) {
    settings += std::string("dram.timing.") + key + " = " + std::to_string(value++) + '\n';
  }
  const Limits limits = limits_from(settings, "dram.");
  value = 1000;
  for (const auto& [key, member] : timings) EXPECT_EQ(limits.*member, value++) << key;
}

TEST(LimitsFromSettings, ReadsTheKeysBelowThePrefixAndNamesTheMissingOne) {
  const std::string other = "nvdimm.dram.clock_ps = 833\ndram.clock_ps = 750\n";
  try {
    (void)limits_from(other, "dram");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "settings lack dram.timing.cl");
  }
  try {
    (void)limits_from("dram.clock_ps = 0.75\n", "dram.");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "dram.clock_ps is '0.75', expected a whole number");
  }
}

}  // namespace
}  // namespace nearfar::checker
