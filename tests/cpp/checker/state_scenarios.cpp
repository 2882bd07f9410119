#include "scenarios.h"
#include "script.h"

namespace nearfar::checker {
namespace {

using Bank = Script::Bank;

constexpr Bank a{0, 0};
constexpr Bank b{1, 0};
constexpr Bank other{0, 0, 1};

Script script() { return Script(ddr4_2666v().clock_ps); }

Scenario state(Rule rule, const std::string& title, Trace legal, Trace broken) {
  return {std::string(name(rule)) + ": " + title, rule, ddr4_2666v(), std::move(legal),
          std::move(broken)};
}

void add_bus_rules(std::vector<Scenario>& all) {
  all.push_back(state(Rule::time_order, "two ranks' ACT in the wrong order",
                      script().act(100, a).act(150, other), script().act(150, other).act(100, a)));
  all.push_back(state(Rule::clock_edge, "an ACT one picosecond late", script().act(100, a),
                      script().act(100, a).late_by_ps(1)));
  all.push_back(state(Rule::command_bus, "two ranks' ACT in one clock",
                      script().act(100, a).act(101, other), script().act(100, a).act(100, other)));
  all.push_back(state(Rule::command_bus, "two ranks' ACT less than a clock apart",
                      script().act(100, a).act(101, other).pre(150, a),
                      script().act(100, a).act(100, other).pre(150, a)));
  all.push_back(state(Rule::command_bus, "SRE with another rank's ACT, which PDE may share",
                      script().pde(100).act(100, other), script().sre(100).act(100, other)));
  all.push_back(state(Rule::known_command, "REFSB, which is DDR5's", script().act(100, a),
                      script().refsb(100, 0)));
  all.push_back(state(Rule::rank_range, "rank 2 of 2", script().act(100, {0, 0, 1}),
                      script().act(100, {0, 0, 2})));
  all.push_back(
      state(Rule::bank_range, "bank 4 of 4", script().act(100, {0, 3}), script().act(100, {0, 4})));
  all.push_back(state(Rule::bank_range, "bank group 4 of 4", script().act(100, {3, 0}),
                      script().act(100, {4, 0})));
  all.push_back(state(Rule::row_range, "row 65536 of 65536", script().act(100, a, 65535),
                      script().act(100, a, 65536)));
  all.push_back(state(Rule::column_range, "column 1024 of 1024",
                      script().act(100, a).rd(200, a, 1, 1016),
                      script().act(100, a).rd(200, a, 1, 1024)));
  all.push_back(state(Rule::burst_alignment, "a burst at column 12",
                      script().act(100, a).rd(200, a, 1, 16),
                      script().act(100, a).rd(200, a, 1, 12)));
}

void add_bank_states(std::vector<Scenario>& all) {
  all.push_back(state(Rule::act_open_bank, "ACT without PRE",
                      script().act(100, a).pre(150, a).act(200, a),
                      script().act(100, a).act(200, a)));
  all.push_back(state(Rule::act_open_bank, "the PRE was another bank's",
                      script().act(100, a).pre(150, a).act(200, a),
                      script().act(100, a).pre(150, b).act(200, a)));
  all.push_back(state(Rule::access_closed_bank, "RD without ACT", script().act(100, a).rd(200, a),
                      script().rd(200, a)));
  all.push_back(state(Rule::access_closed_bank, "WR after PREA", script().act(100, a).wr(200, a),
                      script().act(100, a).prea(150).wr(200, a)));
  all.push_back(state(Rule::access_closed_bank, "RD after RDA",
                      script().act(100, a).rd(150, a).rd(200, a),
                      script().act(100, a).rda(150, a).rd(200, a)));
  all.push_back(state(Rule::access_other_row, "RD of row 2 while row 1 is open",
                      script().act(100, a, 1).rd(200, a, 1),
                      script().act(100, a, 1).rd(200, a, 2)));
  all.push_back(state(Rule::ref_open_bank, "REF with a row open",
                      script().act(100, b).pre(150, b).ref(200), script().act(100, b).ref(200)));
  all.push_back(state(Rule::sre_open_bank, "SRE with a row open",
                      script().act(100, b).pre(150, b).sre(200), script().act(100, b).sre(200)));
}

void add_cke_states(std::vector<Scenario>& all) {
  all.push_back(state(Rule::power_down, "ACT in power-down", script().pde(100).pdx(150).act(200, a),
                      script().pde(100).act(200, a)));
  all.push_back(state(Rule::power_down, "REF in power-down", script().pde(100).pdx(150).ref(200),
                      script().pde(100).ref(200)));
  all.push_back(state(Rule::power_down, "PDE twice", script().pde(100).pdx(150).pde(200),
                      script().pde(100).pde(200)));
  all.push_back(state(Rule::self_refresh, "ACT in self refresh",
                      script().sre(100).srx(200).act(1300, a), script().sre(100).act(1300, a)));
  all.push_back(state(Rule::exit_without_entry, "PDX of a rank that is awake",
                      script().pde(100).pdx(200), script().pdx(200)));
  all.push_back(state(Rule::exit_without_entry, "SRX of a rank that is awake",
                      script().sre(100).srx(200), script().srx(200)));
  all.push_back(state(Rule::exit_without_entry, "PDX out of self refresh",
                      script().sre(100).srx(200), script().sre(100).pdx(200)));
  all.push_back(state(Rule::ref_after_srx, "SRE, SRX, SRE without REF",
                      script().sre(100).srx(200).ref(900).sre(1500),
                      script().sre(100).srx(200).sre(1500)));
  all.push_back(state(Rule::ref_after_srx, "SRE, SRX, power-down, SRE without REF",
                      script().sre(100).srx(200).ref(900).pde(1500).pdx(1600).sre(1700),
                      script().sre(100).srx(200).pde(1500).pdx(1600).sre(1700)));
}

}  // namespace

std::vector<Scenario> state_scenarios() {
  std::vector<Scenario> all;
  add_bus_rules(all);
  add_bank_states(all);
  add_cke_states(all);
  return all;
}

std::vector<Scenario> refresh_scenarios() {
  const Limits limits = ddr4_2666v();
  constexpr std::uint64_t refi = 10400;
  const auto add = [&](std::vector<Scenario>& all, Rule rule, const std::string& title,
                       Script legal, Script broken) {
    all.push_back({std::string(name(rule)) + ": " + title, rule, limits, legal, broken});
  };
  // All but the last of each are one rank's; the other rank must not fall behind.
  const auto both = [&](std::uint64_t clock) { return script().ref(clock).ref(clock + 1, 1); };
  const auto eight = [&](std::uint64_t from) {
    Script s = script();
    for (std::uint64_t i = 0; i < 8; ++i) {
      s.ref(from + 500 * i).ref(from + 500 * i + 1, 1);
    }
    return s;
  };
  const auto ref_at = [](Script s, std::uint64_t clock) { return s.ref(clock); };

  std::vector<Scenario> all;
  // Eight pulled in, so that only the gap speaks.
  add(all, Rule::refresh_gap, "the next REF 9 tREFI later", ref_at(eight(100), 3600 + 9 * refi),
      ref_at(eight(100), 3600 + 9 * refi + 1));
  add(all, Rule::refresh_postponed, "the second REF at 10 tREFI", ref_at(both(5 * refi), 10 * refi),
      ref_at(both(5 * refi), 10 * refi + 1));
  add(all, Rule::refresh_pulled_in, "the ninth REF at 1 tREFI", ref_at(eight(100), refi),
      ref_at(eight(100), refi - 1));

  const auto seventeen = [&](std::uint64_t last) {
    Script s = script();
    for (std::uint64_t i = 0; i < 16; ++i) s.ref(9 * refi + 500 * i);
    return s.ref(last);
  };
  add(all, Rule::refresh_burst, "the seventeenth REF 2 tREFI after the first", seventeen(11 * refi),
      seventeen(11 * refi - 1));
  all.back().limits.ranks = 1;
  return all;
}

}  // namespace nearfar::checker
