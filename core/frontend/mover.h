#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/slab.h"
#include "frontend/space.h"
#include "sim/cpu/socket.h"

namespace nearfar::frontend {

/// Copies pages from one place in memory to another, as a system that moves pages does: each line
/// is read, then written, at most `at_once` at a time, past the caches, which give the lines up
/// before.
///
/// Copies are made in the order in which they are asked for, and wait meanwhile. A caller
/// should first see that the mover is not full: then no more wait than a few decisions make,
/// however slow memory is.
class Mover {
 public:
  /// A core that waits for copies to be complete, as the caller numbers it.
  using Waiter = std::uint32_t;
  static constexpr Waiter nobody = ~Waiter{0};

  /// It is full when more than `room` bytes wait to be copied.
  Mover(sim::cpu::Socket& socket, Bytes room) : socket_(socket), room_(room) {
    socket_.on_moved([this](std::uint64_t id, Tick now) { moved(id, now); });
  }
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  ~Mover() { socket_.on_moved({}); }

  /// Is called with a waiter when all that it waits for has been copied.
  void when_copied(std::function<void(Waiter, Tick)> then) { then_ = std::move(then); }

  /// Copies a page, from `at` on.
  void copy(const AddressSpace::Copy& copy, Tick at, Waiter waiter = nobody) {
    for (Bytes line = 0; line < copy.bytes; line += line_bytes) {
      // A line that was newer in the caches is what gets written: no access more or less.
      socket_.caches().flush(copy.from + line, false);
    }
    if (waiter != nobody) {
      if (waiter >= awaited_.size()) awaited_.resize(waiter + std::size_t{1});
      awaited_[waiter] += copy.bytes / line_bytes;
    }
    waiting_.push_back({.copy = copy, .at = at, .waiter = waiter});
    waiting_bytes_ += copy.bytes;
    most_waiting_ = std::max(most_waiting_, waiting_bytes_);
    send(socket_.now());
  }

  [[nodiscard]] bool is_full() const { return waiting_bytes_ > room_; }
  /// When it was full last.
  [[nodiscard]] Tick room_since() const { return room_since_; }
  /// Lines copied.
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  /// The most that ever waited to be copied.
  [[nodiscard]] Bytes most_waiting() const { return most_waiting_; }
  void forget_counts() {
    lines_ = 0;
    most_waiting_ = waiting_bytes_;
  }

 private:
  /// A page of which not all lines have been sent.
  struct Waiting {
    AddressSpace::Copy copy;
    Bytes sent = 0;
    Tick at;
    Waiter waiter;
  };
  struct Flight {
    Address to;
    bool written = false;  ///< it is on its way there; else from where it was
    Waiter waiter = nobody;
  };
  /// Two pages of lines on their way keep any channel busy.
  static constexpr std::size_t at_once = 32;

  void send(Tick now) {
    const bool was_full = is_full();
    while (flights_.in_use() < at_once && !waiting_.empty()) {
      Waiting& first = waiting_.front();
      const auto flight = flights_.take({.to = first.copy.to + first.sent, .waiter = first.waiter});
      socket_.move_line(first.copy.from + first.sent, false, flight, max(first.at, now));
      first.sent += line_bytes;
      waiting_bytes_ -= line_bytes;
      if (first.sent >= first.copy.bytes) waiting_.pop_front();
    }
    if (was_full && !is_full()) room_since_ = now;
  }

  void moved(std::uint64_t id, Tick now) {
    const auto index = static_cast<Slab<Flight>::Index>(id);
    Flight& flight = flights_[index];
    if (!flight.written) {
      flight.written = true;
      socket_.move_line(flight.to, true, id, now);
      return;
    }
    const Waiter waiter = flight.waiter;
    flights_.give_back(index);
    ++lines_;
    send(now);
    if (waiter != nobody && --awaited_[waiter] == 0) then_(waiter, now);
  }

  sim::cpu::Socket& socket_;
  Bytes room_;
  std::function<void(Waiter, Tick)> then_;
  std::deque<Waiting> waiting_;
  Bytes waiting_bytes_ = 0;
  Bytes most_waiting_ = 0;
  Tick room_since_{};
  Slab<Flight> flights_;
  std::vector<std::uint64_t> awaited_;  ///< lines, by waiter
  std::uint64_t lines_ = 0;
};

}  // namespace nearfar::frontend
