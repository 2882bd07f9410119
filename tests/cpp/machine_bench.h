#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine_fixture.h"

/// For tests that play one request after another: a machine with its clock.
namespace nearfar::sim::testing {

inline Request read_of(std::uint64_t id, std::uint64_t address, std::uint16_t port = 0) {
  Request request;
  request.id = id;
  request.address = Address(address);
  request.port = port;
  return request;
}

inline Request write_of(std::uint64_t id, std::uint64_t address, DataHandle data,
                        std::uint16_t port = 0) {
  Request request = read_of(id, address, port);
  request.op = Op::write;
  request.data = data;
  return request;
}

/// One machine, the instant it has reached, and what it has told so far.
class Bench {
 public:
  explicit Bench(const Overrides& overrides = {}) : machine_(quiet_optane(overrides)) {}

  bool send(const Request& request) { return machine_.try_send(request, now_).accepted; }

  /// Plays up to the next instant that has something to tell; what it told.
  Sink step(Tick until = Tick::never()) {
    Sink sink;
    const Tick reached = machine_.advance_to_completion(until, sink);
    if (!reached.is_never()) now_ = max(now_, reached);
    for (const Completion& completion : sink) {
      if (completion.kind == Completion::Kind::wake) woken_.push_back(completion.id);
      if (completion.kind == Completion::Kind::media) stored_.push_back(completion.id);
    }
    return sink;
  }
  void advance(Tick until) {
    while (now_ < until) step(until);
  }
  /// Plays until the request is done.
  Completion wait_for(std::uint64_t id) {
    while (true) {
      const Sink sink = step();
      if (sink.empty()) throw std::logic_error("never done: " + std::to_string(id));
      for (const Completion& completion : sink) {
        if (completion.kind == Completion::Kind::done && completion.id == id) return completion;
      }
    }
  }
  /// Plays until so many ports have been woken; false when that never happens.
  bool wait_for_wakes(std::size_t count) {
    while (woken_.size() < count) {
      if (step().empty()) return false;
    }
    return true;
  }
  /// The writes that were told to be on the media, in order.
  [[nodiscard]] const std::vector<std::uint64_t>& stored() const { return stored_; }
  [[nodiscard]] const std::vector<std::uint64_t>& woken() const { return woken_; }
  [[nodiscard]] Tick now() const { return now_; }
  Machine& machine() { return machine_; }

 private:
  Machine machine_;
  Tick now_{};
  std::vector<std::uint64_t> woken_;
  std::vector<std::uint64_t> stored_;
};

}  // namespace nearfar::sim::testing
