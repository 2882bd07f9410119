#include "sim/dram/controller.h"

namespace nearfar::sim::dram {

template <Command command>
[[gnu::always_inline]] inline void Channel::Controller::issue(const RequestQueue::Entry& entry,
                                                              Cycle cycle) {
  timing_.issue<command>(entry.at.bank, cycle);
  if (observed_) [[unlikely]] {
    observe(command, entry.at, mapping_.column_of(entry.address), cycle);
  }
}

/// The request's burst was issued at `cycle`: it leaves the queue.
[[gnu::always_inline]] inline void Channel::Controller::finish(Direction d, Index index,
                                                               Cycle cycle) {
  RequestQueue& queue = state_.queue(d);
  const RequestQueue::Entry& entry = queue[index];
  const Location at = entry.at;
  const Address address = entry.address;
  const Timing& t = config_.timing;
  if (d == Direction::read) {
    completions_.burst_ends(
        {time_of(cycle + t.cl + t.burst), entry.id, address, Completion::Kind::done, entry.data});
    counters_.read_queue_entry_ps += (time_of(cycle) - entry.arrived).ps();
    ++counters_.read_bursts;
  } else {
    if (entry.tell_media || entry.merged != 0) tell_media(entry, time_of(cycle + t.cwl + t.burst));
    counters_.write_queue_entry_ps += (time_of(cycle) - entry.arrived).ps();
    ++counters_.write_bursts;
  }
  ++(entry.precharged  ? counters_.row_conflicts
     : entry.activated ? counters_.row_misses
                       : counters_.row_hits);

  std::uint32_t& overtaken = state_.overtaken[static_cast<unsigned>(d)];
  overtaken = queue.oldest() == index ? 0 : overtaken + 1;
  queue.remove(index);
  const std::uint32_t writes = state_.queue(Direction::write).size();
  if (d == Direction::read) {
    state_.drain.read_issued(writes);
    if (state_.blocked_writes > 0) [[unlikely]]
      unblock_writes(address, at.bank);
  } else {
    state_.drain.write_issued(writes, state_.queue(Direction::read).size());
  }
  slot_freed(d, cycle);
  RankState& rank = state_.ranks[at.rank];
  if (--rank.queued == 0) rank.idle_since = cycle;
  if (rank.queued == 0 && !rests_until_due(at.rank)) rank_emptied(at.rank, cycle + 1);
  selector_.update(d, state_, at.bank);
  if (overtaken == ControllerState::patience) [[unlikely]] {
    selector_.update(d, state_, queue[queue.oldest()].at.bank);
  }
}

template <Direction d>
[[gnu::always_inline]] inline void Channel::Controller::issue_column(Index index, Cycle cycle) {
  constexpr bool read = d == Direction::read;
  const RequestQueue::Entry& entry = state_.queue(d)[index];
  const Location at = entry.at;
  const bool last_use = state_.closed_page && !state_.queue(d).wants_row(at, index) &&
                        !state_.queue(opposite(d)).wants_row(at);
  if (!last_use) {
    issue<read ? Command::rd : Command::wr>(entry, cycle);
    finish(d, index, cycle);
    return;
  }
  issue<read ? Command::rda : Command::wra>(entry, cycle);
  state_.open_row[at.bank] = ControllerState::closed;
  --state_.ranks[at.rank].open_banks;
  ++counters_.auto_precharges;
  finish(d, index, cycle);
  selector_.update(opposite(d), state_, at.bank);
}

[[gnu::always_inline]] inline void Channel::Controller::issue_row(Direction d, Command command,
                                                                  Index index, Cycle cycle) {
  RequestQueue::Entry& entry = state_.queue(d)[index];
  const Location at = entry.at;
  RankState& rank = state_.ranks[at.rank];
  if (command == Command::act) {
    issue<Command::act>(entry, cycle);
    entry.activated = true;
    state_.open_row[at.bank] = at.row;
    ++rank.open_banks;
    ++counters_.activates;
  } else {
    issue<Command::pre>(entry, cycle);
    entry.precharged = true;
    state_.open_row[at.bank] = ControllerState::closed;
    --rank.open_banks;
    ++counters_.precharges;
  }
  selector_.row_issued(d, state_, at.bank);
}

template <Direction d>
[[gnu::always_inline]] inline void Channel::Controller::carry_out(const Choice& choice) {
  const Selector::Proposal& proposal = selector_.proposal(d, choice.bank);
  const Index entry = proposal.entry;
  if (proposal.kind == Selector::column) {
    issue_column<d>(entry, choice.cycle);
  } else {
    const bool activate = proposal.kind == Selector::activate;
    issue_row(d, activate ? Command::act : Command::pre, entry, choice.cycle);
  }
}

[[gnu::always_inline]] inline void Channel::Controller::choose(Cycle from) {
  const Choice choice = state_.direction() == Direction::read
                            ? selector_.select(Direction::read, state_, timing_, from, available_)
                            : selector_.select(Direction::write, state_, timing_, from, available_);
  if (choice.cycle < plans_[next_plan_].cycle) {
    set_next(choice);
  } else {
    set_next_plan(from);
  }
}

void Channel::Controller::choose_next(Cycle from) { choose(from); }

/// Carries out what comes next, at `next_time_`; `until` is how far time is known to go.
[[gnu::always_inline]] inline void Channel::Controller::run_next(Tick until) {
  if (next_is_plan_) [[unlikely]] {
    if (!skip_idle(cycle_of(until))) carry_out_plan();
    return;
  }
  const Cycle cycle = next_choice_.cycle;
  if (next_choice_.direction == Direction::read) {
    carry_out<Direction::read>(next_choice_);
  } else {
    carry_out<Direction::write>(next_choice_);
  }
  choose(cycle + 1);
}

void Channel::Controller::run_commands(Tick until) {
  if (reference_) {
    run_every_cycle(cycle_of(until));
    return;
  }
  while (next_time_ <= until) run_next(until);
}

Tick Channel::Controller::run_to_completion(Tick until) {
  Tick reached;
  while (next_time_ <= min(until, completions_.next()) && !no_requests()) {
    reached = next_time_;
    run_next(reached);
  }
  return reached;
}

void Channel::Controller::run_every_cycle(Cycle last) {
  while (cycle_ < last) {
    ++cycle_;
    if (const auto rank = reference_->rank_command(cycle_)) {
      issue_for_rank(rank->command, rank->rank, cycle_);
    } else if (const auto choice = reference_->request_command(cycle_)) {
      if (choice->command == Command::act || choice->command == Command::pre) {
        issue_row(choice->direction, choice->command, choice->entry, cycle_);
      } else if (choice->direction == Direction::read) {
        issue_column<Direction::read>(choice->entry, cycle_);
      } else {
        issue_column<Direction::write>(choice->entry, cycle_);
      }
    }
  }
  next_time_ = time_of(cycle_ + 1);
}

void Channel::Controller::carry_out_plan() {
  const Cycle cycle = cycle_of(next_time_);
  const std::uint32_t rank = next_plan_;
  // A plan that another command pushed aside may no longer be what the rank wants.
  if (plans_[rank].look_again || plans_[rank].cycle < cycle) {
    plan_rank(rank, cycle);
    choose_next(cycle);
    return;
  }
  issue_for_rank(plans_[rank].command, rank, cycle);
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
  if (slot_of(command) < Slot::prea) {
    const std::uint32_t group = at.bank / config_.banks;
    record.bank_group = static_cast<std::uint8_t>(group % config_.bank_groups);
    record.bank = static_cast<std::uint8_t>(at.bank % config_.banks);
  }
  if (command == Command::act) record.row = at.row;
  if (ddr4::column.has(command)) record.column = column;
  log_->record(record);
}

void Channel::Controller::tell_media(const RequestQueue::Entry& entry, Tick time) {
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
  RequestQueue& writes = state_.queue(Direction::write);
  const Index write = writes.find(address, bank);
  if (write == RequestQueue::none || !writes[write].blocked) return;
  if (state_.queue(Direction::read).find(address, bank) != RequestQueue::none) return;
  writes[write].blocked = false;
  --state_.blocked_writes;
  selector_.update(Direction::write, state_, bank);
}

void Channel::Controller::issue_for_rank(Command command, std::uint32_t index, Cycle cycle) {
  Location at;
  at.rank = static_cast<std::uint16_t>(index);
  at.bank = static_cast<std::uint16_t>(index * config_.banks_in_rank());
  timing_.issue(command, at.bank, cycle);
  if (observed_) observe(command, at, 0, cycle);
  RankState& rank = state_.ranks[index];
  state_.rules.issued(command, rank, cycle);
  switch (command) {
    case Command::prea:
      ++counters_.precharges;
      for (std::uint32_t i = 0; i < config_.banks_in_rank(); ++i) {
        const std::uint32_t bank = index * config_.banks_in_rank() + i;
        state_.open_row[bank] = ControllerState::closed;
        selector_.update(Direction::read, state_, bank);
        selector_.update(Direction::write, state_, bank);
      }
      break;
    case Command::ref:
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
