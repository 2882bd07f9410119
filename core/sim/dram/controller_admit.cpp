#include <string>

#include "base/error.h"
#include "sim/device.h"
#include "sim/dram/controller.h"

namespace nearfar::sim::dram {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void fail_beyond(Address address, Bytes capacity) {
  throw InputError("address " + std::to_string(address.value()) +
                   " lies beyond the DRAM channel's " + std::to_string(capacity) + " bytes");
}

}  // namespace

// A read that finds no write, nothing to be done before it and no slot held is most of what a
// channel ever gets. Its way in is short, calls nothing before it is done, and is inlined.
Accept Channel::Controller::try_send(const Request& request, Tick now) {
  if (!is_plain_read(request)) return admit(request, now);
  if (now >= next_time_) return admit_late(request, now);
  return queue_read(request, mapping_.locate_plain(request.address), now);
}

/// A request that finds its queue full is counted as refused and then waits for a place, as a port
/// does that takes it at its wake; but nothing is told about that, nor held.
Tick Channel::Controller::send(const Request& request, Tick now, Sink& sink) {
  if (observed_ || slots_held() || ports_wait()) return send_at_wakes(*this, request, now, sink);
  if (next_time_ <= now) run_commands(now);
  if (request.op != Op::read || request.address >= mapping_.plain_below() ||
      !state_.queue(Direction::write).empty()) {
    return send_rest(request, now, sink);
  }
  if (state_.queue(Direction::read).full()) now = run_until_place(Direction::read, sink);
  (void)queue_read(request, mapping_.locate_plain(request.address), now);
  return now;
}

[[gnu::noinline]] Tick Channel::Controller::send_rest(const Request& request, Tick now,
                                                      Sink& sink) {
  if (request.address.value() >= mapping_.capacity()) [[unlikely]] {
    fail_beyond(request.address, mapping_.capacity());
  }
  if (needs_place(request, mapping_.locate(request.address))) {
    const Direction d = request.op == Op::read ? Direction::read : Direction::write;
    if (state_.queue(d).full()) now = run_until_place(d, sink);
  }
  (void)admit(request, now);
  return now;
}

/// A read of a line that is to be written is answered at once, and such a write joins the other.
bool Channel::Controller::needs_place(const Request& request, const Location& at) const {
  return state_.queue(Direction::write).find(request.address, at.bank) == nullptr;
}

/// The same of a read that is plain but for what is to be done before it, which may wake a port.
[[gnu::noinline]] Accept Channel::Controller::admit_late(const Request& request, Tick now) {
  run_commands(now);
  if (slots_held()) return admit(request, now);
  return queue_read(request, mapping_.locate_plain(request.address), now);
}

[[gnu::noinline]] Accept Channel::Controller::admit(const Request& request, Tick now) {
  if (request.address.value() >= mapping_.capacity()) [[unlikely]] {
    fail_beyond(request.address, mapping_.capacity());
  }
  run_until(now);
  const Location at = mapping_.locate(request.address);
  if (request.op == Op::write) return admit_write(request, at, now);
  if (state_.queue(Direction::write).find(request.address, at.bank) != nullptr) {
    return forward(request, now);
  }
  if (!enter(Direction::read, request.port)) return refuse(Direction::read, request, now);
  return queue_read(request, at, now);
}

[[gnu::always_inline]] inline Accept Channel::Controller::queue_read(const Request& request,
                                                                     const Location& at, Tick now) {
  ++counters_.reads;
  Entry& entry = *state_.queue(Direction::read).push(request, at, arrivals_++, now);
  ++state_.ranks[at.rank].queued;
  const Selector::Change change = selector_.arrived(Direction::read, state_, entry);
  // When its bank goes on with another read, nothing else changes either.
  return change == Selector::Change::none ? Accept::yes() : read_arrived(entry, change);
}

[[gnu::noinline]] Accept Channel::Controller::read_arrived(const Entry& entry,
                                                           Selector::Change change) {
  if (state_.ranks[entry.at.rank].queued == 1 || state_.queue(Direction::read).size() == 1) {
    woke_up(entry);
  } else if (state_.direction() == Direction::read) {
    reconsider(Direction::read, entry, change);
  }
  return Accept::yes();
}

Accept Channel::Controller::admit_write(const Request& request, const Location& at, Tick now) {
  RequestQueue& writes = state_.queue(Direction::write);
  if (Entry* const same = writes.find(request.address, at.bank)) return merge(*same, request, now);
  if (!enter(Direction::write, request.port)) return refuse(Direction::write, request, now);
  ++counters_.writes;
  tell_accepted(request, now);
  const Direction before = state_.direction();
  Entry& entry = *writes.push(request, at, arrivals_++, now);
  entry.merged = 0;
  entry.tell_media = request.tell_media;
  // A read that came first must not see this write's data.
  entry.blocked = state_.queue(Direction::read).find(request.address, at.bank) != nullptr;
  if (entry.blocked) ++state_.blocked_writes;
  state_.drain.write_queued(writes.size());
  RankState& rank = state_.ranks[at.rank];
  ++rank.queued;
  const Selector::Change change = selector_.arrived(Direction::write, state_, entry);
  const Direction direction = state_.direction();
  if (rank.queued == 1 || direction != before) {
    woke_up(entry);
  } else if (change != Selector::Change::none && direction == Direction::write) {
    reconsider(Direction::write, entry, change);
  }
  return Accept::yes();
}

/// After an arrival that found its rank or its queue empty: the rank's plans and the direction
/// may have changed.
void Channel::Controller::woke_up(const Entry& arrived) {
  if (reference_) return;
  const Location& at = arrived.at;
  const Cycle from = cycle_of(arrived.arrived) + 1;
  if (!plans_[at.rank].look_again || (available_ >> at.bank & 1) == 0) plan_rank(at.rank, from);
  if (requests() == 1 && (available_ >> at.bank & 1) != 0) {
    set_next(selector_.choice_of(state_.direction(), timing_, at.bank, from), from);
  } else {
    choose_next(from);
  }
}

/// After an arrival that changed what its bank proposes: a full choice only when more than a
/// new proposal has to be considered.
inline void Channel::Controller::reconsider(Direction d, const Entry& arrived,
                                            Selector::Change change) {
  const std::uint32_t bank = arrived.at.bank;
  const Cycle from = cycle_of(arrived.arrived) + 1;
  if (reference_ || (available_ >> bank & 1) == 0) return;
  if (change == Selector::Change::replaced || state_.urgent(d)) return choose_next(from);
  const Choice choice = selector_.choice_of(d, timing_, bank, from);
  const Tick time = time_of(choice.cycle);
  const auto order = [&](const Choice& of) { return selector_.order(of.direction, of.bank); };
  if (time < next_time_ ||
      (time == next_time_ && next_ != Next::plan && order(choice) < order(next_choice_))) {
    set_next(choice);
  }
}

Accept Channel::Controller::forward(const Request& request, Tick now) {
  const Cycle cycle = cycle_of(now);
  ++counters_.reads;
  ++counters_.forwarded_reads;
  completions_.tell_soon(
      {time_of(cycle + 1), request.id, request.address, Completion::Kind::done, request.data});
  if (slots_held() && release(Direction::read, request.port)) slot_freed(Direction::read, cycle);
  return Accept::yes();
}

Accept Channel::Controller::merge(Entry& queued, const Request& request, Tick now) {
  ++counters_.writes;
  ++counters_.coalesced_writes;
  if (request.tell_media) {
    queued.merged = 1 + merged_.take({request.id, request.address, request.data, queued.merged});
  }
  tell_accepted(request, now);
  if (slots_held() && release(Direction::write, request.port)) {
    slot_freed(Direction::write, cycle_of(now));
  }
  return Accept::yes();
}

void Channel::Controller::tell_accepted(const Request& request, Tick now) {
  completions_.tell_soon({now, request.id, request.address, Completion::Kind::done, request.data});
}

Accept Channel::Controller::refuse(Direction d, const Request& request, Tick now) {
  ++counters_.refused;
  waiting(d).refuse(request.port);
  return Accept::retry(time_of(cycle_of(now) + 1));
}

void Channel::Controller::wake_next(Direction d, Cycle cycle) {
  if (slots_held()) lapse_holds(cycle);
  if (const auto port = waiting(d).wake(cycle)) {
    Completion wake;
    wake.time = time_of(cycle);
    wake.id = *port;
    wake.kind = Completion::Kind::wake;
    completions_.tell_soon(wake);
    find_next_lapse();
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
    find_next_lapse();
    slot_freed(d, at);
  }
}

}  // namespace nearfar::sim::dram
