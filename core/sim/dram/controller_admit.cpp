#include <string>

#include "base/error.h"
#include "sim/dram/controller.h"

namespace nearfar::sim::dram {

Accept Channel::Controller::try_send(const Request& request, Tick now) {
  if (request.address.value() >= mapping_.capacity()) {
    throw InputError("address " + std::to_string(request.address.value()) +
                     " lies beyond the DRAM channel's " + std::to_string(mapping_.capacity()) +
                     " bytes");
  }
  run_until(now);
  const Cycle cycle = cycle_of(now);
  const Location at = mapping_.locate(request.address);
  return request.op == Op::read ? admit_read(request, at, cycle, now)
                                : admit_write(request, at, cycle, now);
}

Accept Channel::Controller::admit_read(const Request& request, const Location& at, Cycle cycle,
                                       Tick now) {
  const RequestQueue& writes = state_.queue(Direction::write);
  if (!writes.empty() && writes.find(at) != RequestQueue::none) {
    ++counters_.reads;
    ++counters_.forwarded_reads;
    completions_.tell_soon({time_of(cycle + 1), request.id, request.address,
                            Completion::Kind::done, request.data});
    if (waiting(Direction::read).release(request.port)) slot_freed(Direction::read, cycle);
    return Accept::yes();
  }
  if (!waiting(Direction::read).take(request.port, state_.queue(Direction::read).free())) {
    return refuse(Direction::read, request, cycle);
  }
  ++counters_.reads;
  enqueue(Direction::read, request, at, cycle, now);
  return Accept::yes();
}

Accept Channel::Controller::admit_write(const Request& request, const Location& at, Cycle cycle,
                                        Tick now) {
  const Index same = state_.queue(Direction::write).find(at);
  if (same != RequestQueue::none) {
    ++counters_.writes;
    ++counters_.coalesced_writes;
    merge(same, request);
    tell_accepted(request, now);
    if (waiting(Direction::write).release(request.port)) slot_freed(Direction::write, cycle);
    return Accept::yes();
  }
  if (!waiting(Direction::write).take(request.port, state_.queue(Direction::write).free())) {
    return refuse(Direction::write, request, cycle);
  }
  ++counters_.writes;
  enqueue(Direction::write, request, at, cycle, now);
  tell_accepted(request, now);
  return Accept::yes();
}

Accept Channel::Controller::refuse(Direction d, const Request& request, Cycle cycle) {
  ++counters_.refused;
  waiting(d).refuse(request.port);
  return Accept::retry(time_of(cycle + 1));
}

void Channel::Controller::enqueue(Direction d, const Request& request, const Location& at,
                                  Cycle cycle, Tick now) {
  const Direction before = state_.direction();
  RequestQueue& queue = state_.queue(d);
  const Index entry = queue.push(request, at, arrivals_++, now);
  if (d == Direction::write) {
    // A read that came first must not see this write's data.
    queue[entry].blocked = state_.queue(Direction::read).find(at) != RequestQueue::none;
    state_.blocked_writes += queue[entry].blocked ? 1 : 0;
    state_.drain.write_queued(queue.size());
  }
  if (reference_) {
    ++state_.ranks[at.rank].queued;
  } else {
    reconsider(d, entry, before, cycle + 1);
  }
}

void Channel::Controller::merge(Index entry, const Request& request) {
  if (!request.tell_media) return;
  RequestQueue::Entry& queued = state_.queue(Direction::write)[entry];
  queued.merged = 1 + merged_.take({request.id, request.address, request.data, queued.merged});
}

void Channel::Controller::tell_accepted(const Request& request, Tick now) {
  completions_.tell_soon(
      {now, request.id, request.address, Completion::Kind::done, request.data});
}

void Channel::Controller::slot_freed(Direction d, Cycle cycle) {
  if (waiting(d).none_waiting()) return;
  lapse_holds(cycle);
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
    const Direction d = waiting(Direction::write).next_lapse() <
                                waiting(Direction::read).next_lapse()
                            ? Direction::write
                            : Direction::read;
    const Cycle at = waiting(d).next_lapse();
    if (at > cycle || at == never) return;
    waiting(d).lapse();
    slot_freed(d, at);
  }
}

}  // namespace nearfar::sim::dram
