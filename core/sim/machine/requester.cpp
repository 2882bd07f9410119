#include "sim/machine/requester.h"

#include <stdexcept>
#include <string>

namespace nearfar::sim {
namespace {

[[noreturn]] void broken(const char* what, const Completion& completion) {
  throw std::logic_error(std::string(what) + ": id " + std::to_string(completion.id) +
                         ", address " + std::to_string(completion.address.value()) + ", at " +
                         std::to_string(completion.time.ps()) + " ps");
}

}  // namespace

void Requester::advance_to(Tick time) {
  if (time <= now_) return;
  device_.advance(time, sink_);
  now_ = time;
  collect();
}

std::uint64_t Requester::send(Address address, Op op) {
  while (options_.outstanding != 0 && waiting_ >= options_.outstanding) step();

  const std::uint32_t slot = take_slot();
  const std::uint64_t id = (serial_++ << slot_bits) | slot;
  const bool tell_media = options_.tell_media && op == Op::write;
  const Request request{.id = id,
                        .address = address,
                        .op = op,
                        .port = options_.port,
                        .tell_media = tell_media};
  while (!device_.try_send(request, now_).accepted) wait_for_wake();
  flights_[slot] = {.id = id,
                    .address = address,
                    .sent = now_,
                    .op = op,
                    .done = false,
                    .awaits_media = tell_media};
  ++waiting_;
  if (tell_media) ++media_waiting_;
  ++(op == Op::read ? totals_.reads : totals_.writes);
  return id;
}

void Requester::wait_for(std::uint64_t id) {
  const auto slot = static_cast<std::uint32_t>(id & slot_mask);
  while (flights_[slot].id == id && !flights_[slot].done) step();
}

void Requester::drain() {
  while (waiting_ > 0 || media_waiting_ > 0) step();
}

std::uint32_t Requester::take_slot() {
  if (free_slots_.empty()) {
    flights_.emplace_back();
    return static_cast<std::uint32_t>(flights_.size() - 1);
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

/// Lets the device play its next event.
void Requester::step() {
  const Tick next = device_.next_event();
  if (next.is_never()) {
    throw std::logic_error("the memory has nothing left to do, yet " +
                           std::to_string(waiting_ + media_waiting_) +
                           " requests are unanswered and a port may be waiting");
  }
  now_ = max(now_, next);
  device_.advance(now_, sink_);
  collect();
}

/// Asking at every `retry_at` instead would give the same times, only slower: the device
/// knows best when it has room.
void Requester::wait_for_wake() {
  woken_ = false;
  while (!woken_) step();
}

void Requester::collect() {
  for (const Completion& completion : sink_) {
    if (completion.time > now_) broken("a completion from the future", completion);
    if (completion.kind == Completion::Kind::wake) {
      if (completion.id == options_.port) woken_ = true;
    } else {
      settle(flight_of(completion), completion);
    }
  }
  sink_.clear();
}

Requester::Flight& Requester::flight_of(const Completion& completion) {
  const std::uint64_t slot = completion.id & slot_mask;
  if (slot >= flights_.size()) broken("a completion nobody waits for", completion);
  Flight& flight = flights_[slot];
  const bool media = completion.kind == Completion::Kind::media;
  if (flight.id != completion.id || (media ? !flight.awaits_media : flight.done)) {
    broken("a completion nobody waits for", completion);
  }
  if (flight.address != completion.address) {
    broken("a completion with another request's address", completion);
  }
  return flight;
}

void Requester::settle(Flight& flight, const Completion& completion) {
  if (completion.kind == Completion::Kind::media) {
    flight.awaits_media = false;
    --media_waiting_;
    ++totals_.media_writes;
  } else {
    flight.done = true;
    --waiting_;
    if (flight.op == Op::read) read_latency_.add((completion.time - flight.sent).ps());
    totals_.last_done = max(totals_.last_done, completion.time);
  }
  if (flight.done && !flight.awaits_media) {
    free_slots_.push_back(static_cast<std::uint32_t>(flight.id & slot_mask));
    flight.id = free_slot;
  }
}

}  // namespace nearfar::sim
