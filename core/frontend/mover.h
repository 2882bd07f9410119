#pragma once

#include <cstdint>
#include <deque>

#include "base/address.h"
#include "sim/cpu/socket.h"

namespace nearfar::frontend {

/// Copies lines from one place in memory to another, as whoever moves pages does: each is read,
/// then written, so many at a time, past the caches, which give the lines up before.
class Mover {
 public:
  explicit Mover(sim::cpu::Socket& socket) : socket_(socket) {
    socket_.on_moved([this](std::uint64_t id, Tick now) { moved(id, now); });
  }
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  ~Mover() { socket_.on_moved({}); }

  void copy(Address from, Address to, Bytes bytes) {
    for (Bytes at = 0; at < bytes; at += line_bytes) {
      // A line that was newer in the caches is what gets written: no access more or less.
      socket_.caches().flush(from + at, false);
      waiting_.push_back({from + at, to + at});
    }
    send(socket_.now());
  }

  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  void forget_counts() { lines_ = 0; }

 private:
  struct Line {
    Address from, to;
  };
  /// Two pages of lines on their way keep any channel busy.
  static constexpr std::uint32_t at_once = 32;

  void send(Tick now) {
    while (in_flight_ < at_once && !waiting_.empty()) {
      const Line line = waiting_.front();
      waiting_.pop_front();
      ++in_flight_;
      socket_.move_line(line.from, false, line.to.value(), now);
    }
  }

  /// An id is where a line that was read goes; one more than that, when it is there.
  void moved(std::uint64_t id, Tick now) {
    if (id % line_bytes == 0) {
      socket_.move_line(Address(id), true, id + 1, now);
      return;
    }
    --in_flight_;
    ++lines_;
    send(now);
  }

  sim::cpu::Socket& socket_;
  std::deque<Line> waiting_;
  std::uint32_t in_flight_ = 0;
  std::uint64_t lines_ = 0;
};

}  // namespace nearfar::frontend
