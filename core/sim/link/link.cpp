#include "sim/link/link.h"

#include <utility>

namespace nearfar::sim::link {

Link::Link(const Config& config, std::unique_ptr<Device> memory, bool observed)
    : config_(config),
      memory_(std::move(memory)),
      always_at_once_(observed || config.directory || config.response_latency == Tick{}),
      takes_early_(memory_->takes_early() && !config.directory),
      port_(*memory_) {
  // Asking for ownership costs its time, and a slot out; its answers are few and short.
  const std::uint64_t trips = config.write_round_trips;
  ways_[0].request_slots = config.read_request_slots;
  ways_[0].response_slots = config.read_response_slots;
  ways_[1].request_slots = config.write_request_slots + trips;
  ways_[1].response_slots = config.write_response_slots;
  for (Way& way : ways_) {
    way.request_time = way.request_slots * config.slot;
    way.response_time = way.response_slots * config.slot;
    way.latency = config.request_latency;
  }
  ways_[1].latency += trips * (config.request_latency + config.response_latency);
  ways_[0].arrivals = arrivals_;
  ways_[1].arrivals = trips == 0 ? arrivals_ : arrivals_ + 1;
  ways_[0].free = config.read_credits;
  ways_[1].free = config.write_credits;
  events_.sleep(credit);
  events_.sleep(credit + 1);
  if (config.directory) directory_.emplace(config.seen, config.seed);
}

// Mostly a request finds a credit that is held for no port. That way in is short and calls nothing
// before it is done.
Accept Link::try_send(const Request& request, Tick now) {
  return request.op == Op::write ? try_send<true>(request, now) : try_send<false>(request, now);
}

template <bool write>
[[gnu::always_inline]] inline Accept Link::try_send(const Request& request, Tick now) {
  const Way& way = ways_[write];
  const bool credit_free = way.free > 0 && way.waiting.held(now) == 0;
  if (!credit_free || request.tell_media || directory_ || flights_.all_in_use()) {
    return try_send_any(request, now);
  }
  enter<write>(request, now);
  return Accept::yes();
}

[[gnu::noinline]] Accept Link::try_send_any(const Request& request, Tick now) {
  const bool write = request.op == Op::write;
  const Way& way = ways_[write];
  const bool credit_free = way.free > 0 && way.waiting.held(now) == 0;
  if (!credit_free && !may_enter(request, now)) return Accept::retry(Tick::never());
  const Index index = write ? enter<true>(request, now) : enter<false>(request, now);
  if (request.tell_media) {
    flights_[index].tell_media = true;
    flights_[index].parts = 2;
    ++notices_;
    known_until_ = Tick{};
  }
  if (directory_) enter_home(index, request.data);
  return Accept::yes();
}

/// A request, which has its credit, is on its way.
template <bool write>
[[gnu::always_inline]] inline Link::Index Link::enter(const Request& request, Tick now) {
  Way& way = ways_[write];
  --way.free;
  ++way.sent;
  request_free_ = max(request_free_, now) + way.request_time;
  const Index index = flights_.take_any();
  Flight& flight = flights_[index];
  flight.id = request.id;
  flight.address = request.address;
  flight.sent = now;
  flight.parts = 1;
  flight.op = write ? Op::write : Op::read;
  flight.tell_media = false;
  way.arrivals->push(request_free_ + way.latency, {.id = index,
                                                   .address = request.address,
                                                   .op = write ? Op::write : Op::read,
                                                   .tell_media = request.tell_media,
                                                   .data = request.data});
  return index;
}

/// Whether a request finds a credit that is not held for another; if not, its port will be woken.
[[gnu::noinline]] bool Link::may_enter(const Request& request, Tick now) {
  const bool write = request.op == Op::write;
  Way& way = ways_[write ? 1 : 0];
  collect_credits(write);
  if (way.waiting.may_enter(request.port, way.free, now)) return true;
  catch_up();
  known_until_ = Tick{};
  ++refusals_;
  way.waiting.refuse(request.port);
  if (way.free > 0) events_.push(hold_lapsed + write, now + Tick(1), {});
  events_.wake(credit + write);
  return false;
}

/// Credits that have come back while no port waited for one. They are not missed before the last of
/// those that were there is gone.
void Link::collect_credits(bool write) {
  ways_[write ? 1 : 0].free += events_.take(credit + write, played_);
}

/// Wakes as many ports as there are credits for which no other port was woken in this instant. A
/// port that does not come has lost its turn in the next.
void Link::wake_waiting(bool write, Tick now, Sink& sink) {
  Way& way = ways_[write ? 1 : 0];
  while (!way.waiting.empty() && way.free > way.waiting.held(now)) {
    way.waiting.slot_freed(now, [&](std::uint16_t port) {
      sink.push_back({now, port, Address{}, Completion::Kind::wake, 0});
    });
  }
  if (way.waiting.empty()) {
    events_.sleep(credit + write);
  } else if (way.waiting.held(now) > 0) {
    events_.push(hold_lapsed + write, now + Tick(1), {});
  }
}

void Link::fence(Tick now) { fences_.push(now + config_.request_latency, {}); }

void Link::advance(Tick until, Sink& sink) {
  if (at_once()) {
    catch_up();
    run_at_once(until, sink, false);
  } else {
    run_behind(until, sink, false);
    catch_up();
  }
}

// Mostly the answer is known, and the only one of its instant: a short way, like that of
// try_send().
Tick Link::advance_to_completion(Tick until, Sink& sink) {
  const Tick own = answers_.next();
  if (own > min(until, known_until_) || sink.full()) return advance_to_any_completion(until, sink);
  played_ = own;
  tell_answer(own, sink);
  return answers_.next() == own ? advance_to_any_completion(own, sink) : own;
}

[[gnu::noinline]] Tick Link::advance_to_any_completion(Tick until, Sink& sink) {
  const Tick own = answers_.next();
  if (own <= min(until, known_until_)) {
    tell_answers(own, sink);
    played_ = own;
    return own;
  }
  if (!at_once()) return run_behind(until, sink, true);
  catch_up();
  return run_at_once(until, sink, true);
}

/// The memory runs by itself as far as nothing happens on the link. At equal times it comes first,
/// then requests that arrive, answers, and the rest: answers and credits of one instant go back to
/// moments of which the answer's is the earlier.
Tick Link::run_at_once(Tick until, Sink& sink, bool to_completion) {
  const std::size_t before = sink.size();
  const Tick last = min(until, Tick::never() - Tick(1));  // what is due never is not due
  while (true) {
    const Tick own = next_message();
    // The memory may refresh itself for ever.
    if (own.is_never() && until.is_never() && idle()) break;
    const Tick memory = memory_->next_event();
    Tick now = own;
    if (memory <= own) {
      if (memory > last) break;
      memory_->advance_to_completion(min(until, own), from_memory_);
      if (from_memory_.empty()) continue;
      now = from_memory_.front().time;
      from_memory(sink);
    } else if (own > last) {
      break;
    }
    arrive(now);
    if (answers_.next() == now) tell_answers(now, sink);
    while (events_.next() == now) handle(events_.pop().lane, now, sink);
    played_ = memory_at_ = now;
    if (to_completion && sink.size() != before) return now;
  }
  if (!until.is_never()) played_ = memory_at_ = until;
  return until;
}

/// Requests that arrive, in the order in which they were sent: of two at the same time, the one
/// that took longer. Then fences.
void Link::arrive(Tick now) {
  while (arrivals_[1].next() == now) offer(arrivals_[1].pop(), now);
  while (arrivals_[0].next() == now) offer(arrivals_[0].pop(), now);
  while (fences_.next() == now) {
    fences_.pop();
    memory_->fence(now);
  }
}

/// Passes on what the memory said.
void Link::from_memory(Sink& sink) {
  for (std::size_t i = 0; i < from_memory_.size(); ++i) {
    const Completion& completion = from_memory_[i];
    if (completion.kind == Completion::Kind::media) {
      --notices_;
      finish(static_cast<Index>(completion.id), completion.time, completion.kind, sink);
    } else {
      hear(completion);
    }
  }
  from_memory_.clear();
}

/// What is not plainly an answer, nor a notice from the media.
void Link::hear_more(const Completion& completion) {
  const Tick now = completion.time;
  if (completion.kind == Completion::Kind::wake) {
    port_.wake(completion.id, now, [&](const Request& request) { taken(request.op, now); });
  } else {
    go_on(static_cast<Index>(completion.id), completion.data, now);
  }
}

void Link::handle(std::size_t lane, Tick now, Sink& sink) {
  if (lane == state_kept) {
    const Index index = given_away_.front();
    given_away_.pop();
    return answer(index, flights_[index].data, now);
  }
  const bool write = lane % 2 != 0;
  if (lane < hold_lapsed) ++ways_[write ? 1 : 0].free;
  wake_waiting(write, now, sink);
}

void Link::offer(Request request, Tick now) {
  if (directory_) return arrive_home(static_cast<Index>(request.id), now);
  if (port_.send(request, now)) taken(request.op, now);
}

/// A serial link that is up sends something all the time, to keep its receivers in step.
std::uint64_t Link::energy_pj() const {
  constexpr std::uint64_t slot_bits = 16 * 8;
  const std::uint64_t sent = request_slots() + response_slots();
  const std::uint64_t possible = std::max(sent, 2 * (settled_ / config_.slot));
  const double paid =
      static_cast<double>(sent) + config_.idle_share * static_cast<double>(possible - sent);
  return static_cast<std::uint64_t>(paid * slot_bits * config_.bit_pj);
}

void Link::state(Archive& archive) {
  memory_->state(archive);
  for (Way& way : ways_) way.state(archive);
  for (TimedFifo<Request>& arrivals : arrivals_) arrivals.state(archive);
  archive(answers_, fences_, events_, played_, memory_at_, known_until_, notices_, flights_,
          request_free_, response_free_, port_, directory_, given_away_, from_memory_, refusals_,
          directory_writes_, settled_, time_ps_);
}

void Link::register_counters(Counters& counters) const {
  counters.add("link.reads", ways_[0].sent);
  counters.add("link.writes", ways_[1].sent);
  counters.add("link.refusals", refusals_);
  counters.add("link.request_slots", [this] { return request_slots(); });
  counters.add("link.response_slots", [this] { return response_slots(); });
  counters.add("link.time_ps", time_ps_);
  if (directory_) counters.add("link.directory.writes", directory_writes_);
  if (config_.bit_pj > 0) counters.add("link.energy.wire_pj", [this] { return energy_pj(); });
  memory_->register_counters(counters);
}

}  // namespace nearfar::sim::link
