#include "sim/dram/controller.h"

// Most of a simulation is spent in here and in try_send(). What a command needs is inlined into
// the two loops that carry commands out; what is rare is kept out of them, and with it the
// registers that it would take.

namespace nearfar::sim::dram {

template <Command command>
[[gnu::noinline]] void Channel::Controller::issue_elsewhere(const Entry& entry, Cycle cycle) {
  if (!observed_) return timing_.issue<ddr5::constraints, command>(entry.at.bank, cycle);
  timing_.issue(command, entry.at.bank, cycle);
  observe(command, entry.at, mapping_.column_of(entry.address), cycle);
}

template <Command command>
[[gnu::always_inline]] inline void Channel::Controller::issue(const Entry& entry, Cycle cycle) {
  if (!plain_) [[unlikely]] {
    return issue_elsewhere<command>(entry, cycle);
  }
  timing_.issue<ddr4::constraints, command>(entry.at.bank, cycle);
}

/// The request's burst was issued at `cycle`, which is `now`: it leaves the queue.
template <Direction d>
[[gnu::always_inline]] inline void Channel::Controller::finish(Entry& entry, Cycle cycle,
                                                               Tick now) {
  RequestQueue& queue = state_.queue(d);
  const std::uint32_t bank = entry.at.bank;
  if constexpr (d == Direction::read) {
    completions_.burst_ends(
        {now + read_burst_, entry.id, entry.address, Completion::Kind::done, entry.data});
    counters_.read_queue_entry_ps += (now - entry.arrived).ps();
    ++counters_.read_bursts;
  } else {
    if (entry.tell_media || entry.merged != 0) tell_media(entry, now + write_burst_);
    counters_.write_queue_entry_ps += (now - entry.arrived).ps();
    ++counters_.write_bursts;
  }
  if (entry.found == RequestQueue::RowState::hit) {
    ++counters_.row_hits;
  } else {
    ++(entry.found == RequestQueue::RowState::miss ? counters_.row_misses
                                                   : counters_.row_conflicts);
  }

  std::uint32_t& overtaken = state_.overtaken[static_cast<unsigned>(d)];
  overtaken = queue.oldest() == &entry ? 0 : overtaken + 1;
  queue.remove(&entry);
  const std::uint32_t writes = state_.queue(Direction::write).size();
  if constexpr (d == Direction::read) {
    state_.drain.read_issued(writes);
    if (writes > 0 && state_.blocked_writes > 0) unblock_writes(entry.address, bank);
  } else {
    state_.drain.write_issued(writes, state_.queue(Direction::read).size());
  }
  slot_freed(d, cycle);
  if (--state_.ranks[entry.at.rank].queued == 0) rank_served(entry.at.rank, cycle);
  selector_.column_issued(d, state_, bank);
  if (overtaken == ControllerState::patience) [[unlikely]] {
    selector_.update(d, state_, queue.oldest()->at.bank);
  }
}

/// An auto-precharge begins when a precharge could: no sooner than tRAS after the ACT.
template <Direction d>
Cycle Channel::Controller::closes_at(std::uint32_t bank, Cycle cycle) const {
  const Timing& t = config_.timing;
  const Cycle recovered = d == Direction::read ? t.rtp : Cycle{t.cwl} + t.burst + t.wr;
  return std::max(cycle + recovered, timing_.earliest_at_bank(Slot::pre, bank));
}

template <Direction d>
[[gnu::always_inline]] inline void Channel::Controller::issue_column(Entry& entry, Cycle cycle,
                                                                     Tick now) {
  constexpr bool read = d == Direction::read;
  const bool last_use = state_.closed_page && !state_.queue(d).wants_row(entry.at, &entry) &&
                        !state_.queue(opposite(d)).wants_row(entry.at);
  const bool may_precharge =
      last_use && (!read || timing_.earliest_auto_precharge(entry.at.bank) <= cycle);
  if (!may_precharge) {
    issue<read ? Command::rd : Command::wr>(entry, cycle);
    return finish<d>(entry, cycle, now);
  }
  issue<read ? Command::rda : Command::wra>(entry, cycle);
  const std::uint32_t bank = entry.at.bank;
  state_.open_row[bank] = ControllerState::closed;
  row_auto_precharged(entry.at.rank, closes_at<d>(bank, cycle), cycle);
  ++counters_.auto_precharges;
  finish<d>(entry, cycle, now);
  selector_.update(opposite(d), state_, bank);
}

template <Direction d, Command command>
[[gnu::always_inline]] inline void Channel::Controller::issue_row(Entry& entry, Cycle cycle) {
  const std::uint32_t bank = entry.at.bank;
  RankState& rank = state_.ranks[entry.at.rank];
  issue<command>(entry, cycle);
  if constexpr (command == Command::act) {
    if (entry.found == RequestQueue::RowState::hit) entry.found = RequestQueue::RowState::miss;
    state_.open_row[bank] = entry.at.row;
    row_cycles_ -= cycle;
    if (rank.open_banks++ == 0) rank_activated(entry.at.rank, cycle);
    ++counters_.activates;
  } else {
    entry.found = RequestQueue::RowState::conflict;
    state_.open_row[bank] = ControllerState::closed;
    row_cycles_ += cycle;
    if (--rank.open_banks == 0) rank_precharged(entry.at.rank, cycle);
    ++counters_.precharges;
  }
  selector_.row_issued<command>(d, state_, bank);
}

void Channel::Controller::choose_next(Cycle from) {
  if (state_.direction() == Direction::read) {
    set_next(selector_.select(Direction::read, state_, timing_, from, available_), from);
  } else {
    set_next(selector_.select(Direction::write, state_, timing_, from, available_), from);
  }
}

/// Carries out the column command that comes next.
template <Direction d>
[[gnu::always_inline]] inline void Channel::Controller::run_column() {
  const Cycle cycle = next_choice_.cycle;
  issue_column<d>(*selector_.entry(d, next_choice_.bank), cycle, next_time_);
  if (state_.direction() == d) {
    const Choice hit = selector_.select_oldest(d, state_, timing_, cycle + 1, available_);
    if (hit.cycle < next_plan_cycle_) return set_next_column(d, hit);
    if (hit.cycle != never || no_requests()) return set_next_plan(cycle + 1);
  }
  choose_next(cycle + 1);
}

/// Carries out the row command that comes next.
template <Direction d>
[[gnu::always_inline]] inline void Channel::Controller::run_row() {
  const Cycle cycle = next_choice_.cycle;
  const std::uint32_t bank = next_choice_.bank;
  Entry& entry = *selector_.entry(d, bank);
  if (selector_.kind(d, bank) == Selector::activate) {
    issue_row<d, Command::act>(entry, cycle);
  } else {
    issue_row<d, Command::pre>(entry, cycle);
  }
  const Choice choice = requests() == 1
                            ? selector_.choice_of(d, timing_, bank, cycle + 1)
                            : selector_.select(d, state_, timing_, cycle + 1, available_);
  set_next(choice, cycle + 1);
}

/// Carries out what comes next, at `next_time_`; `until` is how far time is known to go.
[[gnu::always_inline]] inline void Channel::Controller::run_next(Tick until) {
  switch (next_) {
    case Next::plan:
      if (!skip_idle(cycle_of(until))) carry_out_plan();
      break;
    case Next::read:
      run_column<Direction::read>();
      break;
    case Next::write:
      run_column<Direction::write>();
      break;
    case Next::row:
      if (next_choice_.direction == Direction::read) {
        run_row<Direction::read>();
      } else {
        run_row<Direction::write>();
      }
      break;
  }
}

void Channel::Controller::run_commands(Tick until) {
  if (reference_) {
    run_every_cycle(cycle_of(until));
    return;
  }
  while (next_time_ <= until) run_next(until);
}

/// What lies between two completions of a stream of row hits; everything else is left to
/// advance_to_any_completion().
Tick Channel::Controller::advance_to_completion(Tick until, Sink& sink) {
  if (observed_ || slots_held()) return advance_to_any_completion(until, sink);
  Tick limit = min(until, completions_.next());
  while (next_time_ <= limit) {
    if (next_ != Next::read) return advance_to_any_completion(until, sink);
    run_column<Direction::read>();
    limit = min(limit, completions_.next());
  }
  return tell_next(until, sink);
}

[[gnu::noinline]] Tick Channel::Controller::advance_to_any_completion(Tick until, Sink& sink) {
  if (observed_ || slots_held() || idle()) return advance_by_events(until, sink);
  Tick reached;
  while (next_time_ <= min(until, completions_.next())) {
    if (next_ == Next::plan && no_requests()) break;
    reached = next_time_;
    run_next(reached);
  }
  if (until.is_never() && completions_.empty()) return reached;
  return tell_next(until, sink);
}

/// Up to when a request leaves the full queue; tells what is due by then, and returns when it is.
Tick Channel::Controller::run_until_place(Direction d, Sink& sink) {
  ++counters_.refused;
  Tick reached;
  while (state_.queue(d).full()) {
    reached = next_time_;
    run_next(reached);
  }
  if (completions_.next() <= reached) completions_.deliver(reached, sink);
  return reached;
}

template <Direction d>
void Channel::Controller::issue_requested(Command command, Entry& entry, Cycle cycle) {
  if (command == Command::act) return issue_row<d, Command::act>(entry, cycle);
  if (command == Command::pre) return issue_row<d, Command::pre>(entry, cycle);
  issue_column<d>(entry, cycle, time_of(cycle));
}

void Channel::Controller::run_every_cycle(Cycle last) {
  while (cycle_ < last) {
    ++cycle_;
    if (const auto rank = reference_->rank_command(cycle_)) {
      issue_for_rank(rank->command, rank->at, cycle_);
    } else if (const auto choice = reference_->request_command(cycle_)) {
      if (choice->direction == Direction::read) {
        issue_requested<Direction::read>(choice->command, *choice->entry, cycle_);
      } else {
        issue_requested<Direction::write>(choice->command, *choice->entry, cycle_);
      }
    }
  }
  next_time_ = time_of(cycle_ + 1);
}

void Channel::Controller::carry_out_plan() {
  const Cycle cycle = cycle_of(next_time_);
  const std::uint32_t rank = next_plan_;
  // A plan that another command pushed aside may no longer be what the rank wants, nor be allowed.
  const RankRules::Plan& plan = plans_[rank];
  if (plan.look_again || plan.cycle < cycle || RankRules::earliest(plan, rank, timing_) > cycle) {
    plan_rank(rank, cycle);
    choose_next(cycle);
    return;
  }
  Location at;
  at.rank = static_cast<std::uint16_t>(rank);
  at.bank = static_cast<std::uint16_t>(plan.bank);
  issue_for_rank(plan.command, at, cycle);
  plan_rank(rank, cycle + 1);
  choose_next(cycle + 1);
}

void Channel::Controller::observe(Command command, const Location& at, std::uint32_t column,
                                  Cycle cycle) {
  if (reference_) reference_->issue(command, at, cycle);
  if (log_ == nullptr) return;
  CommandRecord record;
  record.time = time_of(cycle);
  record.command = command;
  record.channel = channel_index_;
  record.rank = static_cast<std::uint8_t>(at.rank);
  if (command == Command::refsb) record.bank = static_cast<std::uint8_t>(at.bank % config_.banks);
  if (slot_of(command) < Slot::prea) {
    const std::uint32_t group = at.bank / config_.banks;
    record.bank_group = static_cast<std::uint8_t>(group % config_.bank_groups);
    record.bank = static_cast<std::uint8_t>(at.bank % config_.banks);
  }
  if (command == Command::act) record.row = at.row;
  if (dram::column.has(command)) record.column = column;
  log_->record(record);
}

void Channel::Controller::tell_media(const Entry& entry, Tick time) {
  if (entry.tell_media) {
    completions_.burst_ends({time, entry.id, entry.address, Completion::Kind::media, entry.data});
  }
  for (std::uint32_t merged = entry.merged; merged != 0;) {
    const Merged write = merged_[merged - 1];
    completions_.burst_ends({time, write.id, write.address, Completion::Kind::media, write.data});
    merged_.give_back(merged - 1);
    merged = write.next;
  }
}

/// A read of the line at `address` was issued: the write that waited for it may go, unless an
/// equal read is left.
void Channel::Controller::unblock_writes(Address address, std::uint32_t bank) {
  Entry* const write = state_.queue(Direction::write).find(address, bank);
  if (write == nullptr || !write->blocked) return;
  if (state_.queue(Direction::read).find(address, bank) != nullptr) return;
  write->blocked = false;
  --state_.blocked_writes;
  selector_.update(Direction::write, state_, bank);
}

void Channel::Controller::row_closed(std::uint32_t bank) {
  state_.open_row[bank] = ControllerState::closed;
  selector_.update(Direction::read, state_, bank);
  selector_.update(Direction::write, state_, bank);
}

/// `at.bank` is the rank's first, a PRE's own, or the first of a REFSB's.
void Channel::Controller::issue_for_rank(Command command, const Location& at, Cycle cycle) {
  const std::uint32_t index = at.rank;
  timing_.issue(command, at.bank, cycle);
  if (observed_) observe(command, at, 0, cycle);
  RankState& rank = state_.ranks[index];
  account(command, index, cycle);
  state_.rules.issued(command, rank, cycle);
  switch (command) {
    case Command::prea:
      ++counters_.precharges;
      for (std::uint32_t i = 0; i < config_.banks_in_rank(); ++i) row_closed(at.bank + i);
      break;
    case Command::pre:
      ++counters_.precharges;
      row_closed(at.bank);
      break;
    case Command::ref:
    case Command::refsb:
      ++counters_.refreshes;
      break;
    case Command::pde:
      ++counters_.powerdowns;
      low_power_since_[index] = cycle;
      break;
    case Command::sre:
      ++counters_.self_refreshes;
      low_power_since_[index] = cycle;
      break;
    case Command::pdx:
      counters_.powerdown_ps += time_of(cycle - low_power_since_[index]).ps();
      break;
    case Command::srx:
      counters_.self_refresh_ps += time_of(cycle - low_power_since_[index]).ps();
      break;
    default:
      break;
  }
}

}  // namespace nearfar::sim::dram
