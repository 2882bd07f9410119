#include <functional>

#include "scenarios.h"
#include "script.h"

namespace nearfar::checker {

Limits ddr4_2666v() {
  Limits t;
  t.clock_ps = 750;
  t.cl = 19;
  t.cwl = 18;
  t.rcd = 19;
  t.rp = 19;
  t.ras = 43;  // 32 ns
  t.rc = 62;   // 46.25 ns
  t.ccd_s = 4;
  t.ccd_l = 7;   // 5 ns
  t.rrd_s = 4;   // 3 ns
  t.rrd_l = 7;   // 4.9 ns
  t.faw = 28;    // 21 ns
  t.wtr_s = 4;   // 2.5 ns
  t.wtr_l = 10;  // 7.5 ns
  t.wr = 20;     // 15 ns
  t.rtp = 10;    // 7.5 ns
  t.rfc = 467;   // 350 ns
  t.refi = 10400;
  t.xp = 8;   // 6 ns
  t.cke = 7;  // 5 ns
  t.ckesr = 8;
  t.xs = 480;  // 360 ns
  t.xsdll = 1024;
  t.rtrs = 2;
  t.ranks = 2;
  t.bank_groups = 4;
  t.banks = 4;
  t.rows = 65536;
  t.columns = 1024;
  return t;
}

namespace {

using Bank = Script::Bank;
using Change = std::function<void(Limits&)>;

// `write` puts the command in question at the clock it is given; `tight` is the first legal
// one.
Scenario distance(Rule rule, std::string title, std::uint64_t tight,
                  const std::function<void(Script&, std::uint64_t)>& write,
                  const Change& change = {}) {
  Limits limits = ddr4_2666v();
  if (change) change(limits);
  Script legal(limits.clock_ps);
  Script broken(limits.clock_ps);
  write(legal, tight);
  write(broken, tight - 1);
  return {std::string(name(rule)) + ": " + std::move(title), rule, limits, legal, broken};
}

constexpr Bank a{0, 0};
constexpr Bank a2{0, 1};        // a's group
constexpr Bank b{1, 0};         // another group
constexpr Bank other{0, 0, 1};  // another rank

using Clock = std::uint64_t;

void add_bank_rules(std::vector<Scenario>& all) {
  all.push_back(distance(Rule::tRCD, "ACT, RD", 100 + 19,
                         [](Script& s, Clock t) { s.act(100, a).rd(t, a); }));
  all.push_back(distance(Rule::tRCD, "ACT, WRA", 100 + 19,
                         [](Script& s, Clock t) { s.act(100, a).wra(t, a); }));
  all.push_back(distance(Rule::tRAS, "ACT, PRE", 100 + 43,
                         [](Script& s, Clock t) { s.act(100, a).pre(t, a); }));
  all.push_back(distance(Rule::tRAS, "ACT, PREA", 100 + 43,
                         [](Script& s, Clock t) { s.act(100, b).prea(t); }));
  all.push_back(distance(
      Rule::tRC, "ACT, ACT of a device whose tRC exceeds tRAS + tRP", 100 + 65,
      [](Script& s, Clock t) { s.act(100, a).pre(143, a).act(t, a); },
      [](Limits& l) { l.rc = 65; }));
  all.push_back(distance(Rule::tRP, "PRE, ACT", 150 + 19,
                         [](Script& s, Clock t) { s.act(100, a).pre(150, a).act(t, a); }));
  all.push_back(distance(Rule::tRP, "PREA, ACT", 150 + 19,
                         [](Script& s, Clock t) { s.act(100, b).prea(150).act(t, b); }));
  all.push_back(distance(Rule::tRP, "PRE of a closed bank, ACT", 200 + 19,
                         [](Script& s, Clock t) { s.pre(200, a).act(t, a); }));
  all.push_back(distance(Rule::tRTP, "RD, PRE", 150 + 10,
                         [](Script& s, Clock t) { s.act(100, a).rd(150, a).pre(t, a); }));
  all.push_back(distance(Rule::tWR, "WR, PRE", 150 + 18 + 4 + 20,
                         [](Script& s, Clock t) { s.act(100, a).wr(150, a).pre(t, a); }));
  all.push_back(distance(Rule::tWR, "WR, PREA", 150 + 18 + 4 + 20,
                         [](Script& s, Clock t) { s.act(100, b).wr(150, b).prea(t); }));
  all.push_back(distance(Rule::RDA_tRP, "RDA, ACT", 150 + 10 + 19,
                         [](Script& s, Clock t) { s.act(100, a).rda(150, a).act(t, a); }));
  all.push_back(distance(Rule::WRA_tRP, "WRA, ACT", 150 + 18 + 4 + 20 + 19,
                         [](Script& s, Clock t) { s.act(100, a).wra(150, a).act(t, a); }));
  const Change short_rc = [](Limits& l) { l.rc = 60; };  // else tRC hides it
  all.push_back(distance(
      Rule::AP_tRAS, "ACT, early RDA, ACT", 100 + 43 + 19,
      [](Script& s, Clock t) { s.act(100, a).rda(119, a).act(t, a); }, short_rc));
  all.push_back(distance(
      Rule::AP_tRAS, "ACT, early WRA, ACT of a device with a long tRAS", 100 + 90 + 19,
      [](Script& s, Clock t) { s.act(100, a).wra(119, a).act(t, a); },
      [](Limits& l) { l.ras = 90; }));
}

void add_rank_rules(std::vector<Scenario>& all) {
  all.push_back(distance(Rule::tRRD_S, "ACT, ACT, other group", 100 + 4,
                         [](Script& s, Clock t) { s.act(100, a).act(t, b); }));
  all.push_back(distance(Rule::tRRD_L, "ACT, ACT, same group", 100 + 7,
                         [](Script& s, Clock t) { s.act(100, a).act(t, a2); }));
  all.push_back(distance(Rule::tFAW, "five ACT", 100 + 28, [](Script& s, Clock t) {
    s.act(100, {0, 0}).act(104, {1, 0}).act(108, {2, 0}).act(112, {3, 0}).act(t, {0, 1});
  }));
  all.push_back(distance(
      Rule::tCCD_S, "RD, RD, other group, in a device where it exceeds a burst", 200 + 5,
      [](Script& s, Clock t) { s.act(100, a).act(104, b).rd(200, a).rd(t, b); },
      [](Limits& l) { l.ccd_s = 5; }));
  all.push_back(distance(
      Rule::tCCD_S, "WR, WR, other group, in a device where it exceeds a burst", 200 + 5,
      [](Script& s, Clock t) { s.act(100, a).act(104, b).wr(200, a).wr(t, b); },
      [](Limits& l) { l.ccd_s = 5; }));
  all.push_back(distance(Rule::tCCD_L, "RD, RD, same bank", 200 + 7,
                         [](Script& s, Clock t) { s.act(100, a).rd(200, a).rd(t, a); }));
  all.push_back(distance(Rule::tCCD_L, "WR, WR, same group", 200 + 7, [](Script& s, Clock t) {
    s.act(100, a).act(107, a2).wr(200, a).wr(t, a2);
  }));
  all.push_back(
      distance(Rule::tWTR_S, "WR, RD, other group", 200 + 18 + 4 + 4,
               [](Script& s, Clock t) { s.act(100, a).act(104, b).wr(200, a).rd(t, b); }));
  all.push_back(
      distance(Rule::tWTR_L, "WR, RD, same group", 200 + 18 + 4 + 10,
               [](Script& s, Clock t) { s.act(100, a).act(107, a2).wr(200, a).rd(t, a2); }));
  all.push_back(distance(Rule::tRTW, "RD, WR", 200 + 19 + 4 - 18 + 2, [](Script& s, Clock t) {
    s.act(100, a).act(104, b).rd(200, a).wr(t, b);
  }));
}

void add_data_bus_rules(std::vector<Scenario>& all) {
  const auto rd = [](Script& s, Clock t, Bank where) { s.rd(t, where); };
  const auto wr = [](Script& s, Clock t, Bank where) { s.wr(t, where); };
  using Access = std::function<void(Script&, Clock, Bank)>;
  const auto pair = [](Access first, Access second) {
    return [first, second](Script& s, Clock t) {
      s.act(100, a).act(101, other);
      first(s, 200, a);
      second(s, t, other);
    };
  };
  const Change no_bubble = [](Limits& l) { l.rtrs = 0; };
  all.push_back(
      distance(Rule::data_bus, "RD, RD of two ranks without bubble", 204, pair(rd, rd), no_bubble));
  all.push_back(
      distance(Rule::data_bus, "WR, RD of two ranks without bubble", 203, pair(wr, rd), no_bubble));
  all.push_back(
      distance(Rule::data_bus, "RD, WR of two ranks without bubble", 205, pair(rd, wr), no_bubble));
  all.push_back(distance(Rule::tRTRS, "RD, RD, other rank", 206, pair(rd, rd)));
  all.push_back(distance(Rule::tRTRS, "WR, WR, other rank", 206, pair(wr, wr)));
  all.push_back(distance(Rule::tRTRS, "WR, RD, other rank", 205, pair(wr, rd)));
  all.push_back(distance(Rule::tRTRS, "RD, WR, other rank", 207, pair(rd, wr)));
}

void add_refresh_rules(std::vector<Scenario>& all) {
  all.push_back(distance(Rule::tRP_REF, "PRE, REF", 150 + 19,
                         [](Script& s, Clock t) { s.act(100, b).pre(150, b).ref(t); }));
  all.push_back(distance(Rule::tRP_REF, "PREA, SRE", 150 + 19,
                         [](Script& s, Clock t) { s.act(100, b).prea(150).sre(t); }));
  all.push_back(distance(Rule::RDA_tRP_REF, "RDA, REF", 150 + 10 + 19,
                         [](Script& s, Clock t) { s.act(100, b).rda(150, b).ref(t); }));
  all.push_back(distance(Rule::WRA_tRP_REF, "WRA, REF", 150 + 18 + 4 + 20 + 19,
                         [](Script& s, Clock t) { s.act(100, b).wra(150, b).ref(t); }));
  all.push_back(distance(Rule::AP_tRAS_REF, "ACT, early RDA, REF", 100 + 43 + 19,
                         [](Script& s, Clock t) { s.act(100, b).rda(119, b).ref(t); }));
  all.push_back(distance(Rule::AP_tRAS_REF, "ACT, early RDA, SRE", 100 + 43 + 19,
                         [](Script& s, Clock t) { s.act(100, b).rda(119, b).sre(t); }));
  all.push_back(distance(Rule::tRFC, "REF, ACT", 100 + 467,
                         [](Script& s, Clock t) { s.ref(100).act(t, a); }));
  all.push_back(
      distance(Rule::tRFC, "REF, REF", 100 + 467, [](Script& s, Clock t) { s.ref(100).ref(t); }));
  all.push_back(
      distance(Rule::tRFC, "REF, SRE", 100 + 467, [](Script& s, Clock t) { s.ref(100).sre(t); }));
  all.push_back(distance(Rule::tRFC, "REF, ACT across power-down", 100 + 467,
                         [](Script& s, Clock t) { s.ref(100).pde(110).pdx(200).act(t, a); }));
}

void add_power_down_rules(std::vector<Scenario>& all) {
  all.push_back(distance(Rule::tXP, "PDX, ACT", 200 + 8,
                         [](Script& s, Clock t) { s.pde(100).pdx(200).act(t, a); }));
  all.push_back(distance(Rule::tXP, "PDX, RD of a row left open", 200 + 8,
                         [](Script& s, Clock t) { s.act(50, a).pde(100).pdx(200).rd(t, a); }));
  all.push_back(distance(Rule::tXP, "PDX, REF", 200 + 8,
                         [](Script& s, Clock t) { s.pde(100).pdx(200).ref(t); }));
  all.push_back(distance(Rule::tCKE, "PDX, PDE", 200 + 7,
                         [](Script& s, Clock t) { s.pde(100).pdx(200).pde(t); }));
  all.push_back(distance(
      Rule::tCKE, "PDX, SRE in a device where it exceeds tXP", 200 + 12,
      [](Script& s, Clock t) { s.pde(100).pdx(200).sre(t); }, [](Limits& l) { l.cke = 12; }));
  all.push_back(
      distance(Rule::tPD, "PDE, PDX", 100 + 7, [](Script& s, Clock t) { s.pde(100).pdx(t); }));
  all.push_back(distance(Rule::tRDPDEN, "RD, PDE", 200 + 19 + 4 + 1,
                         [](Script& s, Clock t) { s.act(100, a).rd(200, a).pde(t); }));
  all.push_back(distance(Rule::tRDPDEN, "RDA, PDE", 200 + 19 + 4 + 1,
                         [](Script& s, Clock t) { s.act(100, a).rda(200, a).pde(t); }));
  all.push_back(distance(Rule::tWRPDEN, "WR, PDE", 200 + 18 + 4 + 20,
                         [](Script& s, Clock t) { s.act(100, a).wr(200, a).pde(t); }));
  all.push_back(distance(Rule::tWRAPDEN, "WRA, PDE", 200 + 18 + 4 + 20 + 1,
                         [](Script& s, Clock t) { s.act(100, a).wra(200, a).pde(t); }));
  all.push_back(distance(Rule::tACTPDEN, "ACT, PDE", 100 + 2,
                         [](Script& s, Clock t) { s.act(100, a).pde(t); }));
  all.push_back(distance(Rule::tPRPDEN, "PRE, PDE", 200 + 2,
                         [](Script& s, Clock t) { s.act(100, a).pre(200, a).pde(t); }));
  all.push_back(
      distance(Rule::tREFPDEN, "REF, PDE", 100 + 2, [](Script& s, Clock t) { s.ref(100).pde(t); }));
  all.push_back(
      distance(Rule::tCKESR, "SRE, SRX", 100 + 8, [](Script& s, Clock t) { s.sre(100).srx(t); }));
  all.push_back(distance(Rule::tXS, "SRX, ACT", 200 + 480,
                         [](Script& s, Clock t) { s.sre(100).srx(200).act(t, a); }));
  all.push_back(distance(Rule::tXS, "SRX, PDE", 200 + 480,
                         [](Script& s, Clock t) { s.sre(100).srx(200).pde(t); }));
  all.push_back(distance(Rule::tXS, "SRX, REF", 200 + 480,
                         [](Script& s, Clock t) { s.sre(100).srx(200).ref(t); }));
  all.push_back(distance(Rule::tXSDLL, "SRX, RD", 200 + 1024,
                         [](Script& s, Clock t) { s.sre(100).srx(200).act(700, a).rd(t, a); }));
}

}  // namespace

std::vector<Scenario> distance_scenarios() {
  std::vector<Scenario> all;
  add_bank_rules(all);
  add_rank_rules(all);
  add_data_bus_rules(all);
  add_refresh_rules(all);
  add_power_down_rules(all);
  return all;
}

}  // namespace nearfar::checker
