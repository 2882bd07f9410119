// Does the checker itself work? For every rule there are two traces a clock, or one state,
// apart: the checker must accept the first, name exactly that rule for the second, and,
// with that rule alone switched off, accept the second as well.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "checker/checker.h"
#include "checker/scenarios.h"
#include "checker/script.h"
#include "checker/speed_bins.h"
#include "checker/tight_script.h"

namespace nearfar::checker {
namespace test_file {

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all = distance_scenarios();
  for (auto& s : state_scenarios()) all.push_back(s);
  for (auto& s : refresh_scenarios()) all.push_back(s);
  for (auto& s : ddr5_distance_scenarios()) all.push_back(s);
  for (auto& s : ddr5_state_scenarios()) all.push_back(s);
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

TEST_P(CheckerScenario, ALegalTracePasses) {
  const Scenario& s = GetParam();
  const Findings findings = check(s.legal, s.limits);
  EXPECT_TRUE(findings.passes()) << listed(findings, s.legal);
}

TEST_P(CheckerScenario, ABrokenTraceBreaksThatRuleAndNoOther) {
  const Scenario& s = GetParam();
  const Findings findings = check(s.broken, s.limits);
  EXPECT_EQ(findings.broken(), only(s.rule)) << listed(findings, s.broken);
  for (const Violation& violation : findings.violations) {
    EXPECT_LT(violation.earlier.value_or(0), std::max<std::size_t>(violation.at, 1));
  }
}

TEST_P(CheckerScenario, WithoutThatRuleABrokenTracePasses) {
  const Scenario& s = GetParam();
  EXPECT_TRUE(check(s.broken, s.limits, RuleSet::all().without(s.rule)).passes());
}

std::string scenario_name(const testing::TestParamInfo<Scenario>& info) {
  return std::string(name(info.param.rule)) + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Rules, CheckerScenario, testing::ValuesIn(all_scenarios()), scenario_name);

class TightScenario : public testing::TestWithParam<Scenario> {};

TEST_P(TightScenario, ALegalTraceHasNothingToSpare) {
  const Scenario& s = GetParam();
  EXPECT_GT(check(s.legal, s.limits).tight_count(s.rule), 0u);
}

INSTANTIATE_TEST_SUITE_P(Distances, TightScenario, testing::ValuesIn(distance_scenarios()),
                         scenario_name);
INSTANTIATE_TEST_SUITE_P(Ddr5Distances, TightScenario, testing::ValuesIn(ddr5_distance_scenarios()),
                         scenario_name);
INSTANTIATE_TEST_SUITE_P(Refresh, TightScenario, testing::ValuesIn(refresh_scenarios()),
                         scenario_name);

TEST(DramChecker, TheCheckerNamesBothCommandsAndBothDistances) {
  const Limits limits = ddr4_2666v();
  const Trace trace = Script(750).act(100, {2, 3, 1}, 77).rd(118, {2, 3, 1}, 77, 8);
  const Findings findings = check(trace, limits);
  ASSERT_EQ(findings.violations.size(), 1u);
  EXPECT_EQ(describe(findings.violations[0], trace),
            "tRCD: RD rank 1 group 2 bank 3 row 77 column 8 at 88500 ps, after "
            "ACT rank 1 group 2 bank 3 row 77 at 75000 ps: 18 clocks, limit 19");
}

TEST(DramChecker, TheCheckerNamesADistanceInsideABankGroupForTheGroupHoweverShort) {
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

TEST(DramChecker, TheCheckerNamesABubbleMissingAltogether) {
  const Trace back_to_back =
      Script(750).act(100, {0, 0, 0}).act(101, {0, 0, 1}).rd(200, {0, 0, 0}).rd(204, {0, 0, 1});
  EXPECT_EQ(check(back_to_back, ddr4_2666v()).broken(), only(Rule::tRTRS));
}

TEST(DramChecker, TheCheckerComparesCommandsOfOneClockToo) {
  const Trace together = Script(750).act(100, {0, 0}).act(100, {1, 0});
  RuleSet both = only(Rule::command_bus);
  both.add(Rule::tRRD_S);
  EXPECT_EQ(check(together, ddr4_2666v()).broken(), both);
}

TEST(DramChecker, TheCheckerExpectsRefreshUpToTheEndOfTheTrace) {
  Limits limits = ddr4_2666v();
  limits.ranks = 1;
  const std::uint64_t last = 9 * limits.refi;
  EXPECT_TRUE(check(Script(750).act(last, {}), limits).passes());
  const RuleSet broken = check(Script(750).act(last + 1, {}), limits).broken();
  EXPECT_TRUE(broken.has(Rule::refresh_postponed));
  EXPECT_TRUE(broken.has(Rule::refresh_gap));
}

TEST(DramChecker, TheCheckerExpectsNoRefreshOfARankInSelfRefresh) {
  Limits limits = ddr4_2666v();
  limits.ranks = 1;
  const std::uint64_t wake = 1000 * limits.refi;
  const Trace slept = Script(750).sre(100).srx(wake).ref(wake + 9 * limits.refi);
  EXPECT_TRUE(check(slept, limits).passes());
  const Trace overslept = Script(750).sre(100).srx(wake).ref(wake + 9 * limits.refi + 1);
  EXPECT_FALSE(check(overslept, limits).passes());
}

TEST(DramChecker, TheCheckerKeepsPostponedRefreshesOwedAcrossSelfRefresh) {
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

TEST(DramChecker, TheCheckerDoesNotCountTheRefreshAfterSelfRefreshAsPulledIn) {
  Limits limits = ddr4_2666v();
  limits.ranks = 1;
  Script script(750);
  for (std::uint64_t i = 0; i < 12; ++i) {
    script.sre(3000 * i + 1000).srx(3000 * i + 1100).ref(3000 * i + 1600);
  }
  EXPECT_TRUE(check(script, limits).passes());
}

TEST(DramChecker, TheCheckerExpectsNoRefreshWhenRefreshIsOff) {
  Limits limits = ddr4_2666v();
  limits.refi = 0;
  EXPECT_TRUE(check(Script(750).act(1'000'000, {}), limits).passes());
}

// A reader of the standard in the other direction: TightScript keeps, for every command,
// the earliest clock at which it may follow, and always uses exactly that one. The two views
// must agree on every command: legal there, illegal one clock earlier, and for the same rules.
class TightScripts : public testing::TestWithParam<Device> {};

TEST_P(TightScripts, TightScriptsAreLegalAndNotOneClockEarlier) {
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

TEST_P(TightScripts, TightScriptsMeetEveryDistanceTightly) {
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

}  // namespace test_file
}  // namespace nearfar::checker
