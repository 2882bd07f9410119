#include "sim/link/link.h"

#include <utility>

namespace nearfar::sim::link {

Link::Link(const Config& config, std::unique_ptr<Device> memory)
    : config_(config), memory_(std::move(memory)), port_(*memory_) {
  gates_[0].free = config.read_credits;
  gates_[1].free = config.write_credits;
  events_.sleep(credit);
  events_.sleep(credit + 1);
  if (config.directory) directory_.emplace(config.seen, config.seed);
}

Accept Link::try_send(const Request& request, Tick now) {
  const bool write = request.op == Op::write;
  Gate& gate = gates_[write ? 1 : 0];
  collect_credits(write);
  if (!gate.waiting.may_enter(request.port, gate.free, now)) {
    ++refusals_;
    gate.waiting.refuse(request.port);
    if (gate.free > 0) events_.push(hold_lapsed + write, now + Tick(1), {});
    events_.wake(credit + write);
    return Accept::retry(Tick::never());
  }
  --gate.free;
  ++(write ? writes_ : reads_);
  // Asking for ownership costs its time, and a slot out; its answers are few and short.
  const std::uint64_t trips = write ? config_.write_round_trips : 0;
  const std::uint64_t slots =
      (write ? config_.write_request_slots : config_.read_request_slots) + trips;
  request_slots_ += slots;
  request_free_ = max(request_free_, now) + slots * config_.slot;
  const Tick arrival = request_free_ + config_.request_latency +
                       trips * (config_.request_latency + config_.response_latency);
  const Index index = flights_.take_any();
  Flight& flight = flights_[index];
  flight.request = request;
  flight.sent = now;
  flight.data = 0;
  flight.parts = request.tell_media ? 2 : 1;
  if (directory_) enter_home(index);
  arrivals_[write ? 1 : 0].push(arrival, {reads_ + writes_, index});
  return Accept::yes();
}

/// Credits that have come back while nobody waited for one.
void Link::collect_credits(bool write) {
  gates_[write ? 1 : 0].free += events_.take(credit + write, played_);
}

/// Wakes as many ports as there are credits that nobody else was woken for in this instant. One
/// that does not come has lost its turn in the next.
void Link::wake_waiting(bool write, Tick now, Sink& sink) {
  Gate& gate = gates_[write ? 1 : 0];
  while (!gate.waiting.empty() && gate.free > gate.waiting.held(now)) {
    gate.waiting.slot_freed(now, [&](std::uint16_t port) {
      sink.push_back({now, port, Address{}, Completion::Kind::wake, 0});
    });
  }
  if (gate.waiting.empty()) {
    events_.sleep(credit + write);
  } else if (gate.waiting.held(now) > 0) {
    events_.push(hold_lapsed + write, now + Tick(1), {});
  }
}

void Link::fence(Tick now) { events_.push(fenced, now + config_.request_latency, {}); }

void Link::advance(Tick until, Sink& sink) { run(until, sink, false); }

Tick Link::advance_to_completion(Tick until, Sink& sink) { return run(until, sink, true); }

/// The memory runs by itself as far as nothing happens on the link. At equal times it comes first,
/// then requests that arrive, answers, and the rest: answers and credits of one instant go back to
/// moments of which the answer's is the earlier.
Tick Link::run(Tick until, Sink& sink, bool to_completion) {
  const std::size_t before = sink.size();
  while (true) {
    const Tick message = messages_next();
    // The memory may refresh itself for ever.
    if (message.is_never() && until.is_never() && idle()) break;
    const Tick own = min(message, events_.next());
    const Tick memory = memory_->next_event();
    Tick now = min(own, memory);
    if (now > until || now.is_never()) break;
    if (memory == now) {
      memory_->advance_to_completion(min(until, own), from_memory_);
      if (from_memory_.empty()) continue;
      now = from_memory(sink);
    }
    if (message == now) messages(now, sink);
    while (events_.next() == now) handle(events_.pop().lane, now, sink);
    played_ = now;
    if (to_completion && sink.size() != before) return now;
  }
  if (!until.is_never()) played_ = until;
  return until;
}

/// Requests that arrive, in the order in which they were sent, and answers.
void Link::messages(Tick now, Sink& sink) {
  while (true) {
    const bool read = arrivals_[0].next() == now;
    const bool write = arrivals_[1].next() == now;
    if (!read && !write) break;
    const bool later = read && write && arrivals_[1].front().number > arrivals_[0].front().number;
    offer(arrivals_[write && !later ? 1 : 0].pop().flight, now);
  }
  while (answers_.next() == now) {
    const Index index = answers_.pop();
    time_ps_ += (now - flights_[index].sent).ps();
    finish(index, now, Completion::Kind::done, sink);
  }
}

/// Passes on what the memory said in one instant, which it returns.
Tick Link::from_memory(Sink& sink) {
  const Tick now = from_memory_.front().time;
  for (std::size_t i = 0; i < from_memory_.size(); ++i) {
    const Completion& completion = from_memory_[i];
    if (completion.kind == Completion::Kind::wake) {
      port_.wake(completion.id, now, [&](const Request& request) { taken(request, now); });
    } else if (completion.kind == Completion::Kind::media) {
      finish(static_cast<Index>(completion.id), now, completion.kind, sink);
    } else if (directory_) {
      go_on(static_cast<Index>(completion.id), completion.data, now);
    } else {
      answer(static_cast<Index>(completion.id), completion.data, now);
    }
  }
  from_memory_.clear();
  return now;
}

void Link::handle(std::size_t lane, Tick now, Sink& sink) {
  if (lane == fenced) return memory_->fence(now);
  const bool write = lane % 2 != 0;
  if (lane < hold_lapsed) ++gates_[write ? 1 : 0].free;
  wake_waiting(write, now, sink);
}

void Link::offer(Index index, Tick now) {
  if (directory_) return arrive_home(index, now);
  Request request = flights_[index].request;
  request.id = index;
  if (port_.send(request, now)) taken(request, now);
}

/// The memory has the request: its place in the port is free. One in the home agent stays taken.
void Link::taken(const Request& request, Tick now) {
  if (directory_) return;
  events_.push(credit + (request.op == Op::write), now + config_.response_latency, {});
}

void Link::answer(Index index, DataHandle data, Tick now) {
  Flight& flight = flights_[index];
  flight.data = data;
  const std::uint64_t slots =
      flight.request.op == Op::write ? config_.write_response_slots : config_.read_response_slots;
  response_slots_ += slots;
  response_free_ = max(response_free_, now) + slots * config_.slot;
  answers_.push(response_free_ + config_.response_latency, index);
}

void Link::finish(Index index, Tick now, Completion::Kind kind, Sink& sink) {
  const Flight& flight = flights_[index];
  const DataHandle data = kind == Completion::Kind::done ? flight.data : 0;
  sink.push_back({now, flight.request.id, flight.request.address, kind, data});
  part_over(index);
}

/// A serial link that is up sends something all the time, to keep its receivers in step.
std::uint64_t Link::energy_pj() const {
  constexpr std::uint64_t slot_bits = 16 * 8;
  const std::uint64_t sent = request_slots_ + response_slots_;
  const std::uint64_t possible = std::max(sent, 2 * (settled_ / config_.slot));
  const double paid =
      static_cast<double>(sent) + config_.idle_share * static_cast<double>(possible - sent);
  return static_cast<std::uint64_t>(paid * slot_bits * config_.bit_pj);
}

void Link::register_counters(Counters& counters) const {
  counters.add("link.reads", reads_);
  counters.add("link.writes", writes_);
  counters.add("link.refusals", refusals_);
  counters.add("link.request_slots", request_slots_);
  counters.add("link.response_slots", response_slots_);
  counters.add("link.time_ps", time_ps_);
  if (directory_) counters.add("link.directory.writes", directory_writes_);
  if (config_.bit_pj > 0) counters.add("link.energy.wire_pj", [this] { return energy_pj(); });
  memory_->register_counters(counters);
}

}  // namespace nearfar::sim::link
