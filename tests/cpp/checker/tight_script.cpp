#include "tight_script.h"

#include <algorithm>

namespace nearfar::checker {
namespace {

using enum Command;

// What a rank that must stay quiet may not be given.
constexpr auto everything = {act, pre, prea, rd, rda, wr, wra, ref, sre};

bool is_access(Command command) { return is_read(command) || is_write(command); }
bool leaves_bus_free(Command command) { return command == pde || command == pdx || command == srx; }

// A mix in which every pair of commands meets often enough.
constexpr std::array mix = {act, act, act,  act, rd,  rd,  rd,  wr,  wr,  wr,  rda, wra,
                            pre, pre, prea, ref, ref, pde, sre, pdx, pdx, srx, srx};

}  // namespace

TightScript::TightScript(const Limits& limits, std::uint64_t seed, std::size_t commands)
    : t_(limits), rng_(seed), ranks_(limits.ranks) {
  for (Rank& rank : ranks_) rank.banks.resize(limits.bank_groups * limits.banks);
  while (trace_.size() < commands) issue(choose());
}

bool TightScript::all_closed(const Rank& rank) const {
  return std::none_of(rank.banks.begin(), rank.banks.end(),
                      [](const Bank& bank) { return bank.open; });
}

bool TightScript::possible(const Choice& choice) const {
  const Rank& rank = ranks_[choice.rank];
  if (choice.command == pdx) return rank.cke == Cke::power_down;
  if (choice.command == srx) return rank.cke == Cke::self_refresh;
  if (rank.cke != Cke::high) return false;
  switch (choice.command) {
    case act:
      return !rank.banks[choice.bank].open;
    case rd:
    case rda:
    case wr:
    case wra:
      return rank.banks[choice.bank].open;
    case ref:
      return all_closed(rank);
    case sre:
      return all_closed(rank) && !rank.owes_ref;
    default:
      return true;
  }
}

// Far from the limits, so that a trace never has to break them.
bool TightScript::refresh_is_urgent(const Rank& rank) const {
  if (t_.refi == 0 || rank.cke == Cke::self_refresh) return false;
  const Clock now = clock_of_last();
  const Clock last = rank.refreshed.empty() ? 0 : rank.refreshed.back();
  return now > rank.epoch + (rank.refreshes + 4) * t_.refi || now > last + 4 * t_.refi;
}

TightScript::Choice TightScript::choose() {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    if (!refresh_is_urgent(rank)) continue;
    if (rank.cke == Cke::power_down) return {pdx, r, 0};
    return {all_closed(rank) ? ref : prea, r, 0};
  }
  while (true) {
    Choice choice{mix[rng_.below(mix.size())], static_cast<std::uint32_t>(rng_.below(t_.ranks)), 0};
    // Half of the time few banks, so that they are busy.
    const std::uint64_t banks = rng_.below(2) == 0 ? 2 : t_.bank_groups * t_.banks;
    choice.bank = static_cast<std::uint32_t>(rng_.below(banks));
    if (possible(choice)) return choice;
  }
}

TightScript::Limiting TightScript::limiting(const Choice& choice) const {
  const Rank& rank = ranks_[choice.rank];
  const auto command = static_cast<std::size_t>(choice.command);
  Limiting all = rank.forbidden[command];
  const auto add = [&](const Limiting& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (choice.command == prea) {
    for (const Bank& bank : rank.banks) add(bank.forbidden[static_cast<std::size_t>(pre)]);
  } else {
    add(rank.banks[choice.bank].forbidden[command]);
  }
  if (choice.command == act && rank.activated.size() == 4) {
    all.push_back({rank.activated.front() + t_.faw, Rule::tFAW});
  }
  add_refresh(choice, all);
  add_bus(choice, all);
  return all;
}

void TightScript::add_bus(const Choice& choice, Limiting& all) const {
  const Clock latency = is_read(choice.command) ? t_.cl : t_.cwl;
  bool seen_burst = false;
  for (std::size_t i = trace_.size(); i-- > 0;) {
    const BusCommand& last = trace_[i];
    const Clock clock = last.ps / t_.clock_ps;
    if (clock + t_.cl + t_.cwl + t_.burst() + t_.rtrs < clock_of_last()) break;
    all.push_back({clock, Rule::time_order});
    if (last.rank == choice.rank ||
        (!leaves_bus_free(last.command) && !leaves_bus_free(choice.command))) {
      all.push_back({clock + 1, Rule::command_bus});
    }
    if (seen_burst || !is_access(choice.command) || !is_access(last.command)) continue;
    seen_burst = true;  // bursts come in order here, so the last one is the latest
    const Clock end = clock + (is_read(last.command) ? t_.cl : t_.cwl) + t_.burst();
    if (end >= latency) all.push_back({end - latency, Rule::data_bus});
    if (last.rank != choice.rank && end + t_.rtrs >= latency) {
      all.push_back({end + t_.rtrs - latency, Rule::tRTRS});
    }
  }
}

void TightScript::add_refresh(const Choice& choice, Limiting& all) const {
  if (choice.command != ref || t_.refi == 0) return;
  const Rank& rank = ranks_[choice.rank];
  const std::uint64_t number = rank.refreshes + 1;
  if (number > 8 + rank.exits) {
    all.push_back({rank.epoch + (number - 8 - rank.exits) * t_.refi, Rule::refresh_pulled_in});
  }
  if (rank.refreshed.size() == 16) {
    all.push_back({rank.refreshed.front() + 2 * t_.refi, Rule::refresh_burst});
  }
}

void TightScript::issue(const Choice& choice) {
  Clock now = 0;
  const Limiting all = limiting(choice);
  for (const NotBefore& limit : all) now = std::max(now, limit.clock);
  RuleSet bound;
  for (const NotBefore& limit : all) {
    if (limit.clock == now && now > 0) bound.add(limit.rule);
  }
  BusCommand c;
  c.ps = now * t_.clock_ps;
  c.command = choice.command;
  c.rank = choice.rank;
  const bool one_bank = choice.command == act || choice.command == pre || is_access(choice.command);
  if (one_bank) {
    c.bank_group = choice.bank % static_cast<std::uint32_t>(t_.bank_groups);
    c.bank = choice.bank / static_cast<std::uint32_t>(t_.bank_groups);
  }
  Bank& bank = ranks_[choice.rank].banks[choice.bank];
  if (choice.command == act) {
    c.row = static_cast<std::uint32_t>(rng_.below(t_.rows));
    bank.row = *c.row;
  }
  if (is_access(choice.command)) {
    c.row = bank.row;
    c.column =
        static_cast<std::uint32_t>(rng_.below(t_.columns / t_.burst_length) * t_.burst_length);
  }
  apply(choice, now);
  trace_.push_back(c);
  bound_by_.push_back(bound);
}

void TightScript::apply(const Choice& choice, Clock now) {
  Rank& rank = ranks_[choice.rank];
  switch (choice.command) {
    case act:
      return activate(choice, now);
    case pre:
      return precharge(rank, rank.banks[choice.bank], now);
    case prea:
      for (Bank& bank : rank.banks) precharge(rank, bank, now);
      return;
    case rd:
    case wr:
      return access(choice, now);
    case rda:
    case wra:
      access(choice, now);
      return close_after_access(choice, now);
    case ref:
      return refresh(rank, now);
    default:
      return move_cke(choice, now);
  }
}

void TightScript::activate(const Choice& choice, Clock now) {
  Rank& rank = ranks_[choice.rank];
  for (std::uint32_t b = 0; b < rank.banks.size(); ++b) {
    const bool same_group = b % t_.bank_groups == choice.bank % t_.bank_groups;
    forbid(rank.banks[b].forbidden, {act}, now + (same_group ? t_.rrd_l : t_.rrd_s),
           same_group ? Rule::tRRD_L : Rule::tRRD_S);
  }
  Bank& bank = rank.banks[choice.bank];
  forbid(bank.forbidden, {rd, rda, wr, wra}, now + t_.rcd, Rule::tRCD);
  forbid(bank.forbidden, {pre}, now + t_.ras, Rule::tRAS);
  forbid(bank.forbidden, {act}, now + t_.rc, Rule::tRC);
  forbid(rank.forbidden, {pde}, now + 2, Rule::tACTPDEN);
  bank.open = true;
  bank.activated = now;
  rank.activated.push_back(now);
  if (rank.activated.size() > 4) rank.activated.pop_front();
}

void TightScript::precharge(Rank& rank, Bank& bank, Clock now) {
  bank.open = false;
  forbid(bank.forbidden, {act}, now + t_.rp, Rule::tRP);
  forbid(rank.forbidden, {ref, sre}, now + t_.rp, Rule::tRP_REF);
  forbid(rank.forbidden, {pde}, now + 2, Rule::tPRPDEN);
}

void TightScript::access(const Choice& choice, Clock now) {
  Rank& rank = ranks_[choice.rank];
  const bool read = is_read(choice.command);
  const Clock data_end = now + (read ? t_.cl : t_.cwl) + t_.burst_length / 2;
  for (std::uint32_t b = 0; b < rank.banks.size(); ++b) {
    const bool same_group = b % t_.bank_groups == choice.bank % t_.bank_groups;
    ByCommand& where = rank.banks[b].forbidden;
    const Clock ccd = now + (same_group ? t_.ccd_l : t_.ccd_s);
    const Rule ccd_rule = same_group ? Rule::tCCD_L : Rule::tCCD_S;
    if (read) {
      forbid(where, {rd, rda}, ccd, ccd_rule);
      // The write's data come two clocks after the last of the read's.
      forbid(where, {wr, wra}, data_end + 2 - t_.cwl, Rule::tRTW);
    } else {
      forbid(where, {wr, wra}, ccd, ccd_rule);
      forbid(where, {rd, rda}, data_end + (same_group ? t_.wtr_l : t_.wtr_s),
             same_group ? Rule::tWTR_L : Rule::tWTR_S);
    }
  }
  ByCommand& bank = rank.banks[choice.bank].forbidden;
  if (read) {
    forbid(bank, {pre}, now + t_.rtp, Rule::tRTP);
    forbid(rank.forbidden, {pde}, data_end + 1, Rule::tRDPDEN);
  } else {
    forbid(bank, {pre}, data_end + t_.wr, Rule::tWR);
    const bool implied = choice.command == wra;
    forbid(rank.forbidden, {pde}, data_end + t_.wr + (implied ? 1 : 0),
           implied ? Rule::tWRAPDEN : Rule::tWRPDEN);
  }
}

void TightScript::close_after_access(const Choice& choice, Clock now) {
  Rank& rank = ranks_[choice.rank];
  Bank& bank = rank.banks[choice.bank];
  bank.open = false;
  const bool read = is_read(choice.command);
  const Clock closed =
      read ? now + t_.rtp + t_.rp : now + t_.cwl + t_.burst_length / 2 + t_.wr + t_.rp;
  const Clock held_back = bank.activated + t_.ras + t_.rp;
  forbid(bank.forbidden, {act}, closed, read ? Rule::RDA_tRP : Rule::WRA_tRP);
  forbid(bank.forbidden, {act}, held_back, Rule::AP_tRAS);
  forbid(rank.forbidden, {ref, sre}, closed, read ? Rule::RDA_tRP_REF : Rule::WRA_tRP_REF);
  forbid(rank.forbidden, {ref, sre}, held_back, Rule::AP_tRAS_REF);
}

void TightScript::refresh(Rank& rank, Clock now) {
  forbid(rank.forbidden, everything, now + t_.rfc, Rule::tRFC);
  forbid(rank.forbidden, {pde}, now + 2, Rule::tREFPDEN);
  rank.owes_ref = false;
  ++rank.refreshes;
  rank.refreshed.push_back(now);
  if (rank.refreshed.size() > 16) rank.refreshed.pop_front();
}

void TightScript::move_cke(const Choice& choice, Clock now) {
  Rank& rank = ranks_[choice.rank];
  switch (choice.command) {
    case pde:
      rank.cke = Cke::power_down;
      forbid(rank.forbidden, {pdx}, now + t_.cke, Rule::tPD);
      return;
    case pdx:
      rank.cke = Cke::high;
      forbid(rank.forbidden, everything, now + t_.xp, Rule::tXP);
      forbid(rank.forbidden, {pde, sre}, now + t_.cke, Rule::tCKE);
      return;
    case sre:
      rank.cke = Cke::self_refresh;
      rank.asleep_since = now;
      forbid(rank.forbidden, {srx}, now + t_.ckesr, Rule::tCKESR);
      return;
    default:
      rank.cke = Cke::high;
      rank.owes_ref = true;
      ++rank.exits;
      rank.epoch = now - (rank.asleep_since - rank.epoch) / t_.refi * t_.refi;
      forbid(rank.forbidden, everything, now + t_.xs, Rule::tXS);
      forbid(rank.forbidden, {pde}, now + t_.xs, Rule::tXS);
      forbid(rank.forbidden, {rd, rda}, now + t_.xsdll, Rule::tXSDLL);
      return;
  }
}

void TightScript::forbid(ByCommand& where, std::initializer_list<Command> commands, Clock until,
                         Rule rule) const {
  for (const Command command : commands) {
    Limiting& limits = where[static_cast<std::size_t>(command)];
    std::erase_if(limits, [&](const NotBefore& old) { return old.clock < clock_of_last(); });
    limits.push_back({until, rule});
  }
}

}  // namespace nearfar::checker
