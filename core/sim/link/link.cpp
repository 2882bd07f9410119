#include "sim/link/link.h"

#include <utility>

namespace nearfar::sim::link {

Link::Link(const Config& config, std::unique_ptr<Device> memory)
    : config_(config), memory_(std::move(memory)), port_(*memory_) {
  gates_[0].free = config.read_credits;
  gates_[1].free = config.write_credits;
}

Accept Link::try_send(const Request& request, Tick now) {
  const bool write = request.op == Op::write;
  Gate& gate = gates_[write ? 1 : 0];
  if (!gate.waiting.may_enter(request.port, gate.free, now)) {
    ++refusals_;
    gate.waiting.refuse(request.port);
    if (gate.free > 0) events_.push(now + Tick(1), {Event::Kind::hold_lapsed, write ? 1u : 0u});
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
  const Index flight =
      flights_.take({.request = request, .sent = now, .parts = request.tell_media ? 2u : 1u});
  events_.push(arrival, {Event::Kind::arrive, flight});
  return Accept::yes();
}

void Link::give_credit(bool write, Tick now, Sink& sink) {
  ++gates_[write ? 1 : 0].free;
  wake_waiting(write, now, sink);
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
  if (!gate.waiting.empty() && gate.waiting.held(now) > 0) {
    events_.push(now + Tick(1), {Event::Kind::hold_lapsed, write ? 1u : 0u});
  }
}

void Link::fence(Tick now) { events_.push(now + config_.request_latency, {Event::Kind::fence, 0}); }

void Link::advance(Tick until, Sink& sink) {
  if (until.is_never()) {
    // The memory may refresh itself for ever.
    while (!idle()) step(next_event(), sink);
    return;
  }
  for (Tick next = next_event(); next <= until; next = next_event()) {
    step(next, sink);
  }
}

Tick Link::advance_to_completion(Tick until, Sink& sink) {
  const std::size_t before = sink.size();
  for (Tick next = next_event(); next <= until && !next.is_never(); next = next_event()) {
    step(next, sink);
    if (sink.size() != before) return next;
  }
  return until;
}

void Link::step(Tick now, Sink& sink) {
  if (memory_->next_event() <= now) {
    memory_->advance(now, from_memory_);
    for (std::size_t i = 0; i < from_memory_.size(); ++i) {
      const Completion completion = from_memory_[i];
      if (completion.kind == Completion::Kind::wake) {
        port_.wake(completion.id, now, [&](const Request& request) { taken(request, now); });
      } else {
        answer(completion, now, sink);
      }
    }
    from_memory_.clear();
  }
  while (events_.next() <= now) {
    const Event event = events_.pop();
    switch (event.kind) {
      case Event::Kind::arrive:
        arrive(event.index, now);
        break;
      case Event::Kind::answer:
        time_ps_ += (now - flights_[event.index].sent).ps();
        finish(event.index, now, Completion::Kind::done, sink);
        break;
      case Event::Kind::credit:
        give_credit(event.index != 0, now, sink);
        break;
      case Event::Kind::hold_lapsed:
        wake_waiting(event.index != 0, now, sink);
        break;
      case Event::Kind::fence:
        memory_->fence(now);
        break;
    }
  }
}

void Link::arrive(Index index, Tick now) {
  Request request = flights_[index].request;
  request.id = index;
  if (port_.send(request, now)) taken(request, now);
}

/// The memory has the request: its place in the port is free.
void Link::taken(const Request& request, Tick now) {
  events_.push(now + config_.response_latency,
               {Event::Kind::credit, request.op == Op::write ? 1u : 0u});
}

void Link::answer(const Completion& completion, Tick now, Sink& sink) {
  const auto index = static_cast<Index>(completion.id);
  Flight& flight = flights_[index];
  if (completion.kind == Completion::Kind::media) {
    finish(index, now, completion.kind, sink);
    return;
  }
  flight.data = completion.data;
  const std::uint64_t slots =
      flight.request.op == Op::write ? config_.write_response_slots : config_.read_response_slots;
  response_slots_ += slots;
  response_free_ = max(response_free_, now) + slots * config_.slot;
  events_.push(response_free_ + config_.response_latency, {Event::Kind::answer, index});
}

void Link::finish(Index index, Tick now, Completion::Kind kind, Sink& sink) {
  Flight& flight = flights_[index];
  const DataHandle data = kind == Completion::Kind::done ? flight.data : 0;
  sink.push_back({now, flight.request.id, flight.request.address, kind, data});
  if (--flight.parts == 0) flights_.give_back(index);
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
  if (config_.bit_pj > 0) counters.add("link.energy.wire_pj", [this] { return energy_pj(); });
  memory_->register_counters(counters);
}

}  // namespace nearfar::sim::link
