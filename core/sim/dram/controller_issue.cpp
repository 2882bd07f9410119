#include "sim/dram/controller.h"

namespace nearfar::sim::dram {

void Channel::Controller::carry_out_next() {
  if (!next_is_plan_) {
    const Choice choice = next_choice_;
    issue_for_request(choice);
    choose_next(choice.cycle + 1);
    return;
  }
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

void Channel::Controller::issue(Command command, const Location& at, Cycle cycle) {
  if (reference_) {
    reference_->issue(command, at, cycle);
  } else {
    timing_.issue(command, at.bank_index, cycle);
  }
  if (log_ == nullptr) return;
  const bool to_bank = slot_of(command) < Slot::prea;
  const bool to_column = slot_of(command) == Slot::rd || slot_of(command) == Slot::wr;
  CommandRecord record;
  record.time = time_of(cycle);
  record.command = command;
  record.channel = channel_index_;
  record.rank = at.rank;
  record.bank_group = to_bank ? at.bank_group : std::uint8_t{0};
  record.bank = to_bank ? at.bank : std::uint8_t{0};
  record.row = command == Command::act ? at.row : 0;
  record.column = to_column ? at.column : 0;
  log_->record(record);
}

void Channel::Controller::issue_for_request(const Choice& choice) {
  RequestQueue& queue = state_.queue(choice.direction);
  RequestQueue::Entry& entry = queue[choice.entry];
  const Location& at = entry.at;
  std::int64_t& open_row = state_.open_row[at.bank_index];
  switch (choice.command) {
    case Command::act:
      issue(Command::act, at, choice.cycle);
      entry.activated = true;
      open_row = at.row;
      ++state_.ranks[at.rank].open_banks;
      ++counters_.activates;
      update_bank(at.bank_index);
      return;
    case Command::pre:
      issue(Command::pre, at, choice.cycle);
      entry.precharged = true;
      open_row = ControllerState::closed;
      --state_.ranks[at.rank].open_banks;
      ++counters_.precharges;
      update_bank(at.bank_index);
      return;
    default:
      break;
  }

  Command command = choice.command;
  const bool last_use = state_.closed_page && !queue.wants_row(at, choice.entry) &&
                        !state_.queue(opposite(choice.direction)).wants_row(at);
  if (last_use) command = choice.direction == Direction::read ? Command::rda : Command::wra;
  issue(command, at, choice.cycle);
  if (last_use) {
    open_row = ControllerState::closed;
    --state_.ranks[at.rank].open_banks;
    ++counters_.auto_precharges;
  }
  finish(choice.direction, choice.entry, choice.cycle);
}

/// The request's burst was issued at `cycle`: it leaves the queue.
void Channel::Controller::finish(Direction d, Index index, Cycle cycle) {
  RequestQueue& queue = state_.queue(d);
  const RequestQueue::Entry& entry = queue[index];
  const Location at = entry.at;
  const Timing& t = config_.timing;
  if (d == Direction::read) {
    completions_.burst_ends({time_of(cycle + t.cl + t.burst), entry.id, entry.address,
                             Completion::Kind::done, entry.data});
  } else {
    tell_media(entry, time_of(cycle + t.cwl + t.burst));
  }
  ++(d == Direction::read ? counters_.read_bursts : counters_.write_bursts);
  ++(entry.precharged  ? counters_.row_conflicts
     : entry.activated ? counters_.row_misses
                       : counters_.row_hits);

  const bool was_urgent = state_.urgent(d);
  std::uint32_t& overtaken = state_.overtaken[static_cast<unsigned>(d)];
  overtaken = queue.oldest() == index ? 0 : overtaken + 1;
  (d == Direction::read ? counters_.read_queue_entry_ps : counters_.write_queue_entry_ps) +=
      (time_of(cycle) - entry.arrived).ps();
  queue.remove(index);
  const std::uint32_t writes = state_.queue(Direction::write).size();
  if (d == Direction::read) {
    state_.drain.read_issued(writes);
    if (state_.blocked_writes > 0) unblock_writes(at);
  } else {
    state_.drain.write_issued(writes, state_.queue(Direction::read).size());
  }
  RankState& rank = state_.ranks[at.rank];
  if (--rank.queued == 0) rank.idle_since = cycle;

  slot_freed(d, cycle);
  if (reference_) return;
  if (!state_.hits(at)) selector_.update(opposite(d), at.bank_index);
  selector_.update(d, at.bank_index);
  if (!was_urgent && state_.urgent(d)) selector_.update(d, queue[queue.oldest()].at.bank_index);
  if (rank.queued == 0) rank_emptied(at.rank, cycle + 1);
}

void Channel::Controller::tell_media(const RequestQueue::Entry& entry, Tick time) {
  const auto tell = [&](std::uint64_t id, Address address, DataHandle data) {
    completions_.burst_ends({time, id, address, Completion::Kind::media, data});
  };
  if (entry.tell_media) tell(entry.id, entry.address, entry.data);
  for (std::uint32_t merged = entry.merged; merged != 0;) {
    const Merged& write = merged_[merged - 1];
    tell(write.id, write.address, write.data);
    const std::uint32_t next = write.next;
    merged_.give_back(merged - 1);
    merged = next;
  }
}

/// A read of the line at `at` was issued: the write that waited for it may go, unless an
/// equal read is left.
void Channel::Controller::unblock_writes(const Location& at) {
  RequestQueue& writes = state_.queue(Direction::write);
  const Index write = writes.find(at);
  if (write == RequestQueue::none || !writes[write].blocked) return;
  if (state_.queue(Direction::read).find(at) != RequestQueue::none) return;
  writes[write].blocked = false;
  --state_.blocked_writes;
  if (!reference_) selector_.update(Direction::write, at.bank_index);
}

void Channel::Controller::update_bank(std::uint32_t bank) {
  if (reference_) return;
  selector_.update(Direction::read, bank);
  selector_.update(Direction::write, bank);
}

void Channel::Controller::issue_for_rank(Command command, std::uint32_t index, Cycle cycle) {
  Location at;
  at.rank = static_cast<std::uint8_t>(index);
  at.bank_index = static_cast<std::uint8_t>(index * config_.banks_in_rank());
  issue(command, at, cycle);
  RankState& rank = state_.ranks[index];
  state_.rules.issued(command, rank, cycle);
  switch (command) {
    case Command::prea:
      ++counters_.precharges;
      for (std::uint32_t i = 0; i < config_.banks_in_rank(); ++i) {
        const std::uint32_t bank = index * config_.banks_in_rank() + i;
        state_.open_row[bank] = ControllerState::closed;
        update_bank(bank);
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
