#include <string>

#include "base/error.h"
#include "sim/dram/controller.h"

namespace nearfar::sim::dram {
namespace {

[[noreturn]] void fail_beyond(Address address, Bytes capacity) {
  throw InputError("address " + std::to_string(address.value()) +
                   " lies beyond the DRAM channel's " + std::to_string(capacity) + " bytes");
}

}  // namespace

/// After an arrival that changed what its bank proposes: a full choice only when more than a
/// new proposal has to be considered.
inline void Channel::Controller::reconsider(Direction d, const Arriving& arriving,
                                            Selector::Change change) {
  if (reference_ || (available_ >> arriving.at.bank & 1) == 0) return;
  if (change == Selector::Change::replaced || state_.urgent(d)) {
    choose_next(arriving.cycle + 1);
    return;
  }
  const Choice choice = selector_.choice_of(d, timing_, arriving.at.bank, arriving.cycle + 1);
  const Tick time = time_of(choice.cycle);
  if (time < next_time_ ||
      (time == next_time_ && !next_is_plan_ && choice.order < next_choice_.order)) {
    set_next(choice);
  }
}

[[gnu::always_inline]] inline Accept Channel::Controller::admit_read(const Arriving& arriving) {
  const Request& request = arriving.request;
  RequestQueue& reads = state_.queue(Direction::read);
  const RequestQueue& writes = state_.queue(Direction::write);
  if (!writes.empty() && writes.find(request.address, arriving.at.bank) != RequestQueue::none) {
    forward(arriving);
    return Accept::yes();
  }
  if (!waiting(Direction::read).take(request.port, reads.free())) {
    return refuse(Direction::read, arriving);
  }
  ++counters_.reads;
  const Index entry = reads.push(request, arriving.at, arrivals_++, arriving.now);
  RankState& rank = state_.ranks[arriving.at.rank];
  ++rank.queued;
  const Selector::Change change = selector_.arrived(Direction::read, state_, entry);
  if (rank.queued == 1 || reads.size() == 1) {
    woke_up(arriving);
  } else if (change != Selector::Change::none && state_.direction() == Direction::read) {
    reconsider(Direction::read, arriving, change);
  }
  return Accept::yes();
}

Accept Channel::Controller::try_send(const Request& request, Tick now) {
  if (request.address.value() >= mapping_.capacity()) [[unlikely]] {
    fail_beyond(request.address, mapping_.capacity());
  }
  run_until(now);
  const Arriving arriving{request, mapping_.locate(request.address), now, cycle_of(now)};
  return request.op == Op::read ? admit_read(arriving) : admit_write(arriving);
}

Accept Channel::Controller::admit_write(const Arriving& arriving) {
  const Request& request = arriving.request;
  RequestQueue& writes = state_.queue(Direction::write);
  const Index same = writes.find(request.address, arriving.at.bank);
  if (same != RequestQueue::none) {
    merge(same, arriving);
    return Accept::yes();
  }
  if (!waiting(Direction::write).take(request.port, writes.free())) {
    return refuse(Direction::write, arriving);
  }
  ++counters_.writes;
  tell_accepted(arriving);
  const Direction before = state_.direction();
  const Index entry = writes.push(request, arriving.at, arrivals_++, arriving.now);
  // A read that came first must not see this write's data.
  if (state_.queue(Direction::read).find(request.address, arriving.at.bank) != RequestQueue::none) {
    writes[entry].blocked = true;
    ++state_.blocked_writes;
  }
  state_.drain.write_queued(writes.size());
  RankState& rank = state_.ranks[arriving.at.rank];
  ++rank.queued;
  const Selector::Change change = selector_.arrived(Direction::write, state_, entry);
  const Direction direction = state_.direction();
  if (rank.queued == 1 || direction != before) {
    woke_up(arriving);
  } else if (change != Selector::Change::none && direction == Direction::write) {
    reconsider(Direction::write, arriving, change);
  }
  return Accept::yes();
}

/// After an arrival that found its rank or its queue empty: the rank's plans and the direction
/// may have changed.
void Channel::Controller::woke_up(const Arriving& arriving) {
  if (reference_) return;
  const Location& at = arriving.at;
  if (!plans_[at.rank].look_again || (available_ >> at.bank & 1) == 0) {
    plan_rank(at.rank, arriving.cycle + 1);
  }
  choose_next(arriving.cycle + 1);
}

void Channel::Controller::forward(const Arriving& arriving) {
  const Request& request = arriving.request;
  ++counters_.reads;
  ++counters_.forwarded_reads;
  completions_.tell_soon({time_of(arriving.cycle + 1), request.id, request.address,
                          Completion::Kind::done, request.data});
  if (waiting(Direction::read).release(request.port)) {
    slot_freed(Direction::read, arriving.cycle);
  }
}

void Channel::Controller::merge(Index entry, const Arriving& arriving) {
  const Request& request = arriving.request;
  ++counters_.writes;
  ++counters_.coalesced_writes;
  if (request.tell_media) {
    RequestQueue::Entry& queued = state_.queue(Direction::write)[entry];
    queued.merged = 1 + merged_.take({request.id, request.address, request.data, queued.merged});
  }
  tell_accepted(arriving);
  if (waiting(Direction::write).release(request.port)) {
    slot_freed(Direction::write, arriving.cycle);
  }
}

void Channel::Controller::tell_accepted(const Arriving& arriving) {
  const Request& request = arriving.request;
  completions_.tell_soon(
      {arriving.now, request.id, request.address, Completion::Kind::done, request.data});
}

Accept Channel::Controller::refuse(Direction d, const Arriving& arriving) {
  ++counters_.refused;
  waiting(d).refuse(arriving.request.port);
  return Accept::retry(time_of(arriving.cycle + 1));
}

void Channel::Controller::wake_next(Direction d, Cycle cycle) {
  if (slots_held()) lapse_holds(cycle);
  if (const auto port = waiting(d).wake(cycle)) {
    Completion wake;
    wake.time = time_of(cycle);
    wake.id = *port;
    wake.kind = Completion::Kind::wake;
    completions_.tell_soon(wake);
  }
}

/// Passes on the slots whose ports did not come by `cycle`, in order of time.
void Channel::Controller::lapse_holds(Cycle cycle) {
  while (true) {
    const Direction d =
        waiting(Direction::write).next_lapse() < waiting(Direction::read).next_lapse()
            ? Direction::write
            : Direction::read;
    const Cycle at = waiting(d).next_lapse();
    if (at > cycle || at == never) return;
    waiting(d).lapse();
    slot_freed(d, at);
  }
}

}  // namespace nearfar::sim::dram
