#include <functional>

#include "scenarios.h"
#include "script.h"

namespace nearfar::checker {

Limits ddr5_4800b() {
  Limits t;
  t.ddr5 = true;
  t.clock_ps = 416;
  t.cl = 40;
  t.cwl = 38;
  t.rcd = 39;
  t.rp = 39;
  t.ras = 77;  // 32 ns
  t.rc = 116;  // 48 ns
  t.ccd_s = 8;
  t.ccd_l = 12;     // 5 ns
  t.ccd_l_wr = 24;  // tCCD_L_WR2, 10 ns
  t.rrd_s = 8;
  t.rrd_l = 12;  // 5 ns
  t.faw = 32;
  t.wtr_s = 6;   // 2.5 ns
  t.wtr_l = 24;  // 10 ns
  t.wr = 72;     // 30 ns
  t.rtp = 18;    // 7.5 ns
  t.ppd = 2;
  t.rfc = 384;      // tRFC2, 160 ns
  t.rfc_sb = 312;   // 130 ns
  t.refsb_rd = 72;  // 30 ns
  t.refi = 4687;    // 1.95 us
  t.xp = 18;        // 7.5 ns
  t.cke = 18;       // tPD, 7.5 ns
  t.ckesr = 36;     // 5 and 10 ns
  t.xs = 708;       // tRFC1, 295 ns
  t.xsdll = 1536;
  t.rtrs = 3;
  t.read_to_write_bubble = 4;
  t.burst_length = 16;
  t.ranks = 2;
  t.bank_groups = 8;
  t.banks = 4;
  t.rows = 65536;
  t.columns = 1024;
  return t;
}

namespace {

using Bank = Script::Bank;
using Clock = std::uint64_t;
using Change = std::function<void(Limits&)>;

constexpr Bank a{0, 0};
constexpr Bank a2{0, 1};        // a's group
constexpr Bank b{5, 0};         // another group, a's number
constexpr Bank other{0, 0, 1};  // another rank

Script script() { return Script(ddr5_4800b().clock_ps); }

// `write` puts the command in question at the clock it is given; `tight` is the first legal one.
Scenario distance(Rule rule, const std::string& title, Clock tight,
                  const std::function<void(Script&, Clock)>& write, const Change& change = {}) {
  Limits limits = ddr5_4800b();
  if (change) change(limits);
  Script legal = script();
  Script broken = script();
  write(legal, tight);
  write(broken, tight - 1);
  return {std::string(name(rule)) + ": DDR5, " + title, rule, limits, legal, broken};
}

void add_columns(std::vector<Scenario>& all) {
  all.push_back(distance(Rule::tCCD_L_WR, "WR, WR, same bank", 200 + 24,
                         [](Script& s, Clock t) { s.act(100, a).wr(200, a).wr(t, a); }));
  all.push_back(distance(
      Rule::tCCD_L_WR, "WR, WR of a device that reads, modifies and writes", 200 + 48,
      [](Script& s, Clock t) { s.act(100, a).act(112, a2).wr(200, a).wr(t, a2); },
      [](Limits& l) { l.ccd_l_wr = 48; }));
  all.push_back(distance(Rule::tCCD_L, "RD, RD, same group", 200 + 12, [](Script& s, Clock t) {
    s.act(100, a).act(112, a2).rd(200, a).rd(t, a2);
  }));
  all.push_back(distance(
      Rule::tCCD_S, "RD, RD, other group, in a device where it exceeds a burst", 200 + 9,
      [](Script& s, Clock t) { s.act(100, a).act(108, b).rd(200, a).rd(t, b); },
      [](Limits& l) { l.ccd_s = 9; }));
  all.push_back(
      distance(Rule::tWTR_L, "WR, RD, same group", 200 + 38 + 8 + 24,
               [](Script& s, Clock t) { s.act(100, a).act(112, a2).wr(200, a).rd(t, a2); }));
  all.push_back(
      distance(Rule::tWTR_S, "WR, RD, other group", 200 + 38 + 8 + 6,
               [](Script& s, Clock t) { s.act(100, a).act(108, b).wr(200, a).rd(t, b); }));
  all.push_back(distance(Rule::tRTW, "RD, WR", 200 + 40 + 8 + 2 + 2 - 38, [](Script& s, Clock t) {
    s.act(100, a).act(108, b).rd(200, a).wr(t, b);
  }));
  all.push_back(distance(Rule::tWTRA, "WR, RDA, same bank", 200 + 38 + 8 + 72 - 18,
                         [](Script& s, Clock t) { s.act(100, a).wr(200, a).rda(t, a); }));
  all.push_back(distance(Rule::tRTRS, "RD, RD, other rank", 200 + 8 + 3, [](Script& s, Clock t) {
    s.act(100, a).act(102, other).rd(200, a).rd(t, other);
  }));
}

void add_rows(std::vector<Scenario>& all) {
  all.push_back(distance(Rule::tRRD_S, "ACT, ACT, other group", 100 + 8,
                         [](Script& s, Clock t) { s.act(100, a).act(t, b); }));
  all.push_back(distance(Rule::tRRD_L, "ACT, ACT, same group", 100 + 12,
                         [](Script& s, Clock t) { s.act(100, a).act(t, a2); }));
  all.push_back(distance(
      Rule::tFAW, "five ACT of pages of 2 KiB", 100 + 40,
      [](Script& s, Clock t) {
        s.act(100, {0, 0}).act(108, {1, 0}).act(116, {2, 0}).act(124, {3, 0}).act(t, {0, 1});
      },
      [](Limits& l) { l.faw = 40; }));
  all.push_back(distance(Rule::tPPD, "PRE, PRE", 300 + 2, [](Script& s, Clock t) {
    s.act(100, a).act(108, b).pre(300, a).pre(t, b);
  }));
  all.push_back(distance(Rule::tPPD, "PRE, PREA", 300 + 2, [](Script& s, Clock t) {
    s.act(100, a).act(108, b).pre(300, a).prea(t);
  }));
  all.push_back(distance(Rule::tWR, "WR, PRE", 200 + 38 + 8 + 72,
                         [](Script& s, Clock t) { s.act(100, a).wr(200, a).pre(t, a); }));
}

void add_refresh(std::vector<Scenario>& all) {
  all.push_back(distance(Rule::tRFC, "REF, REFSB", 100 + 384,
                         [](Script& s, Clock t) { s.ref(100).refsb(t, 0); }));
  all.push_back(distance(Rule::tRFCsb, "REFSB, ACT of its bank in another group", 100 + 312,
                         [](Script& s, Clock t) { s.refsb(100, 0).act(t, b); }));
  all.push_back(distance(Rule::tRFCsb, "REFSB, REFSB", 100 + 312,
                         [](Script& s, Clock t) { s.refsb(100, 0).refsb(t, 1); }));
  all.push_back(distance(Rule::tRFCsb, "REFSB, REF", 100 + 312,
                         [](Script& s, Clock t) { s.refsb(100, 0).ref(t); }));
  all.push_back(distance(Rule::tRFCsb, "REFSB, PREA", 100 + 312,
                         [](Script& s, Clock t) { s.refsb(100, 0).prea(t); }));
  all.push_back(distance(Rule::tRFCsb, "REFSB, SRE", 100 + 312,
                         [](Script& s, Clock t) { s.refsb(100, 0).sre(t); }));
  all.push_back(distance(Rule::tREFSBRD, "REFSB, ACT of another number", 100 + 72,
                         [](Script& s, Clock t) { s.refsb(100, 0).act(t, a2); }));
  all.push_back(distance(Rule::tRRD_REFsb, "ACT, REFSB of another number", 100 + 12,
                         [](Script& s, Clock t) { s.act(100, a2).refsb(t, 0); }));
  all.push_back(distance(Rule::tRP_REF, "PRE, REFSB", 300 + 39,
                         [](Script& s, Clock t) { s.act(100, b).pre(300, b).refsb(t, 0); }));
  all.push_back(distance(Rule::tRP_REF, "PREA, REFSB", 300 + 39,
                         [](Script& s, Clock t) { s.act(100, a2).prea(300).refsb(t, 0); }));
  all.push_back(distance(Rule::RDA_tRP_REF, "RDA, REFSB", 300 + 18 + 39,
                         [](Script& s, Clock t) { s.act(100, b).rda(300, b).refsb(t, 0); }));
  all.push_back(distance(Rule::WRA_tRP_REF, "WRA, REFSB", 300 + 38 + 8 + 72 + 39,
                         [](Script& s, Clock t) { s.act(100, b).wra(300, b).refsb(t, 0); }));
  all.push_back(distance(Rule::AP_tRAS_REF, "ACT, early RDA, REFSB", 100 + 77 + 39,
                         [](Script& s, Clock t) { s.act(100, b).rda(139, b).refsb(t, 0); }));
}

void add_power(std::vector<Scenario>& all) {
  all.push_back(distance(Rule::tREFPDEN, "REFSB, PDE", 100 + 2,
                         [](Script& s, Clock t) { s.refsb(100, 0).pde(t); }));
  all.push_back(distance(Rule::tWRPDEN, "WR, PDE", 200 + 38 + 8 + 72 + 1,
                         [](Script& s, Clock t) { s.act(100, a).wr(200, a).pde(t); }));
  all.push_back(
      distance(Rule::tPD, "PDE, PDX", 100 + 18, [](Script& s, Clock t) { s.pde(100).pdx(t); }));
  all.push_back(distance(Rule::tXP, "PDX, PDE", 200 + 18,
                         [](Script& s, Clock t) { s.pde(100).pdx(200).pde(t); }));
  all.push_back(distance(Rule::tXP, "PDX, REFSB", 200 + 18,
                         [](Script& s, Clock t) { s.pde(100).pdx(200).refsb(t, 0); }));
  all.push_back(
      distance(Rule::tCKESR, "SRE, SRX", 100 + 36, [](Script& s, Clock t) { s.sre(100).srx(t); }));
  all.push_back(distance(Rule::tXS, "SRX, REFSB", 200 + 708,
                         [](Script& s, Clock t) { s.sre(100).srx(200).refsb(t, 0); }));
  all.push_back(distance(Rule::tXSDLL, "SRX, WR", 200 + 1536,
                         [](Script& s, Clock t) { s.sre(100).srx(200).act(1000, a).wr(t, a); }));
}

Scenario state(Rule rule, const std::string& title, Trace legal, Trace broken) {
  return {std::string(name(rule)) + ": DDR5, " + title, rule, ddr5_4800b(), std::move(legal),
          std::move(broken)};
}

// REFSB as fast as they can follow one another.
Script same_bank_refreshes(Clock count) {
  Script s = script();
  for (Clock i = 0; i < count; ++i) s.refsb(100 + 320 * i, static_cast<std::uint32_t>(i % 4));
  return s;
}

// Normal granularity allows four postponed.
Script refreshes_of_both(Clock clock) { return script().ref(clock).ref(clock + 1, 1); }

}  // namespace

std::vector<Scenario> ddr5_distance_scenarios() {
  std::vector<Scenario> all;
  add_columns(all);
  add_rows(all);
  add_refresh(all);
  add_power(all);
  return all;
}

std::vector<Scenario> ddr5_state_scenarios() {
  std::vector<Scenario> all;
  all.push_back(state(Rule::command_bus, "an ACT takes two clocks of every rank",
                      script().act(100, a).act(102, other), script().act(100, a).act(101, other)));
  all.push_back(state(Rule::command_bus, "so does an RD, and PDE is a command",
                      script().act(100, a).rd(200, a).pde(202, 1),
                      script().act(100, a).rd(200, a).pde(201, 1)));
  all.push_back(state(Rule::ref_open_bank, "REFSB while a bank of its number has a row open",
                      script().act(100, a2).refsb(200, 0), script().act(100, b).refsb(200, 0)));
  all.push_back(state(Rule::refresh_order, "a number again before the others",
                      script().refsb(100, 0).refsb(500, 1), script().refsb(100, 0).refsb(500, 0)));
  Script three = script().sre(100).srx(200).refsb(1000, 0).refsb(1400, 1).refsb(1800, 2);
  Script four = three;
  all.push_back(state(Rule::ref_after_srx, "SRE before every number was refreshed",
                      four.refsb(2200, 3).sre(2600), three.sre(2600)));
  all.push_back(state(Rule::self_refresh, "REFSB in self refresh",
                      script().sre(100).srx(200).refsb(1000, 0), script().sre(100).refsb(1000, 0)));

  // Number 44 is due, eight tREFI ahead, at 44/4 tREFI - 8 tREFI.
  constexpr Clock earliest = 3 * 4687;
  all.push_back(state(Rule::refresh_pulled_in, "the 44th REFSB at 3 tREFI",
                      same_bank_refreshes(43).refsb(earliest, 3),
                      same_bank_refreshes(43).refsb(earliest - 1, 3)));
  constexpr Clock refi = 9375;
  all.push_back(state(Rule::refresh_postponed, "the second REF at 6 tREFI in normal mode",
                      refreshes_of_both(3 * refi).ref(6 * refi),
                      refreshes_of_both(3 * refi).ref(6 * refi + 1)));
  all.back().limits.refi = refi;
  all.back().limits.rfc = 708;
  all.back().limits.refresh_slack = 4;
  return all;
}

}  // namespace nearfar::checker
