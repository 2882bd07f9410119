#pragma once

#include <cstdint>
#include <vector>

#include "sim/persistence/image_set.h"
#include "sim/persistence/program.h"
#include "sim/persistence/states.h"

namespace nearfar::sim::persistence {

/// Several threads somewhere in their program: what has been issued, what has left the store
/// buffers, in which order stores have become visible in each line, and how many of them must
/// have persisted.
///
/// What is without consequences for others happens as soon as it can: stores enter the (unbounded)
/// buffers, awaits see their value, clwb and clflushopt look at their line, which obliges the
/// fence to the least.
class Threads {
 public:
  Threads(const Program& program, bool eadr);

  /// The operations that may leave next, in the program's order.
  [[nodiscard]] std::vector<std::uint32_t> enabled() const;
  /// One of them leaves.
  void leave(std::uint32_t op);

  [[nodiscard]] bool finished() const { return left_count_ == program_->size(); }
  /// The first operation of a thread that has not left, thread after thread.
  [[nodiscard]] std::uint32_t first_waiting() const;
  [[nodiscard]] bool left(std::uint32_t op) const { return left_[op]; }
  [[nodiscard]] Fingerprint print() const;

  struct Line {
    std::vector<std::uint32_t> visible;  ///< stores, in the order in which all see them
    std::uint32_t floor = 0;             ///< how many of them have persisted at least
  };
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  [[nodiscard]] const std::vector<bool>& passed() const { return passed_; }

 private:
  struct Flush {
    std::uint32_t line;
    std::uint32_t stores;  ///< of the line's visible ones, that it saw
  };

  [[nodiscard]] bool may_leave(std::uint32_t op) const;
  [[nodiscard]] bool must_wait_for(std::uint32_t later, std::uint32_t earlier) const;
  [[nodiscard]] std::uint64_t read(std::uint32_t op) const;
  void fence(std::uint32_t thread);
  void settle_down();
  bool issue(std::uint32_t thread);
  bool look_at_lines(std::uint32_t thread);
  void mark_left(std::uint32_t op);

  const Program* program_;
  bool eadr_;
  std::vector<std::uint32_t> issued_;           ///< by thread
  std::vector<std::uint32_t> oldest_;           ///< by thread: everything before has left
  std::vector<bool> left_;                      ///< by operation
  std::uint32_t left_count_ = 0;
  std::vector<Line> lines_;
  std::vector<std::vector<Flush>> flushes_;     ///< by thread: done, not fenced yet
  std::vector<bool> passed_;
};

}  // namespace nearfar::sim::persistence
