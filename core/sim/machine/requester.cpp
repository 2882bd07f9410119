#include "sim/machine/requester.h"

#include <stdexcept>
#include <string>

namespace nearfar::sim {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void broken(const char* what, const Completion& completion) {
  throw std::logic_error(std::string(what) + ": id " + std::to_string(completion.id) +
                         ", address " + std::to_string(completion.address.value()) + ", at " +
                         std::to_string(completion.time.ps()) + " ps");
}

}  // namespace

Requester::Requester(Device& device, const Options& options)
    : device_(device), limit_(options.outstanding == 0 ? ~std::uint64_t{0} : options.outstanding) {
  if (options.tell_media) awaits_[index(Op::write)] = await_done | await_media;
  request_.port = options.port;
}

/// What has been told up to `until`. Inlined: it comes with every request.
[[gnu::always_inline]] inline void Requester::collect(Tick until) {
  for (const Completion& completion : sink_) {
    if (completion.time > until) broken("a completion from the future", completion);
    if (completion.kind == Completion::Kind::wake) continue;
    now_ = max(now_, completion.time);
    const bool done = completion.kind == Completion::Kind::done;
    const std::uint8_t awaited = done ? await_done : await_media;
    const auto slot = static_cast<std::uint32_t>(completion.id);
    if (slot >= flights_.size()) broken("a completion that no request waits for", completion);
    Flight& flight = flights_[slot];
    if (flight.id != completion.id || (flight.awaited & awaited) == 0) {
      broken("a completion that no request waits for", completion);
    }
    if (flight.address != completion.address) {
      broken("a completion with another request's address", completion);
    }

    if (done) {
      --waiting_;
      if (flight.op == Op::read) {
        seen_.read_latency.add((completion.time - flight.sent).ps());
      }
      seen_.traffic.add(flight.op, now_);
      totals_.last_done = max(totals_.last_done, completion.time);
    } else {
      ++totals_.media_writes;
    }
    flight.awaited = static_cast<std::uint8_t>(flight.awaited & ~awaited);
    if (flight.awaited == 0) {
      flight.next_free = first_free_;
      first_free_ = slot;
    }
  }
  sink_.clear();
}

void Requester::advance_to(Tick time) {
  if (time <= now_) return;
  now_ = time;
  device_.advance(time, sink_);
  collect(time);
}

// Everything is noted before the device is asked, so that little has to survive the call:
// a driver's instructions are spent on every request of every simulation.
std::uint64_t Requester::send(Address address, Op op) {
  while (waiting_ >= limit_) step();
  if (first_free_ == no_slot) add_slot();

  const std::uint32_t slot = first_free_;
  Flight& flight = flights_[slot];
  first_free_ = flight.next_free;
  const std::uint64_t id = serial_ | slot;
  serial_ += next_serial;

  flight.id = request_.id = id;
  flight.address = request_.address = address;
  flight.sent = now_;
  flight.op = request_.op = op;
  flight.thread = thread_;
  flight.awaited = awaits_[index(op)];
  request_.tell_media = (flight.awaited & await_media) != 0;
  ++waiting_;
  ++totals_.sent[index(op)];

  const Tick taken = device_.send(request_, now_, sink_);
  if (taken != now_ || !sink_.empty()) waited(taken, flight);
  return id;
}

/// The request was taken only then: what it waited for has completed.
void Requester::waited(Tick taken, Flight& flight) {
  if (taken.is_never()) forgotten();
  flight.sent = taken;
  collect(taken);
  now_ = taken;
}

void Requester::wait_for(std::uint64_t id) {
  const Flight& flight = flights_[static_cast<std::uint32_t>(id)];
  while (flight.id == id && (flight.awaited & await_done) != 0) step();
}

void Requester::wait_for_thread(std::uint16_t thread, bool reads) {
  for (std::size_t slot = 0; slot < flights_.size(); ++slot) {
    const Flight& flight = flights_[slot];
    if (flight.thread == thread && (reads || flight.op == Op::write)) wait_for(flight.id);
  }
}

void Requester::drain() {
  while (waiting_ > 0 || media_waiting() > 0) step();
}

void Requester::empty_queues() {
  drain();
  while (!device_.idle()) {
    const Tick next = device_.next_event();
    if (next.is_never()) {
      throw std::logic_error("the memory has nothing left to do, yet writes are queued in it");
    }
    advance_to(max(next, now_ + Tick(1)));
  }
}

/// Writes that have not been told to have reached the media, though that was asked for.
std::uint64_t Requester::media_waiting() const {
  const bool asked = (awaits_[index(Op::write)] & await_media) != 0;
  return asked ? totals_.writes() - totals_.media_writes : 0;
}

/// Advances the device to its next completion.
void Requester::step() {
  const Tick reached = device_.advance_to_completion(last_instant, sink_);
  if (sink_.empty()) forgotten();
  now_ = max(now_, reached);
  collect(now_);
}

void Requester::forgotten() const {
  throw std::logic_error("the memory has nothing left to do, yet " +
                         std::to_string(waiting_ + media_waiting()) +
                         " requests are unanswered and a port may be waiting");
}

void Requester::add_slot() {
  first_free_ = static_cast<std::uint32_t>(flights_.size());
  flights_.emplace_back();
}

}  // namespace nearfar::sim
