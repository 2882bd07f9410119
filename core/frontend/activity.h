#pragma once

#include <cstdint>
#include <deque>

#include "base/time_series.h"
#include "sim/cpu/core.h"

namespace nearfar::frontend {

/// What a program's threads did over time. The cores count anyway; this looks at their sums now
/// and then, and takes what came since the last look to have come evenly.
class Activity {
 public:
  /// Instructions, and behind them the picoseconds that each cause took.
  static constexpr std::size_t kinds = 1 + sim::cpu::causes;

  /// A thread that begins at `at`.
  void add(Tick at) { threads_.push_back({.seen = at, .instructions = TimeSeries<1>(begin_)}); }

  /// From then on a look is worth its while.
  [[nodiscard]] Tick due() const { return due_; }
  /// Threads were looked at, at `now`.
  void looked(Tick now) { due_ = now + all_.width(); }

  /// The thread has got to `clock`, with these counts of its core.
  void look(std::size_t thread, Tick clock, const sim::cpu::CoreCounts& counts) {
    Seen& of = threads_[thread];
    if (counts.instructions != of.counted) {
      of.instructions.spread(0, of.seen, clock, counts.instructions - of.counted);
      all_.spread(0, of.seen, clock, counts.instructions - of.counted);
      of.counted = counts.instructions;
    }
    for (std::size_t i = 0; i < sim::cpu::causes; ++i) {
      // Rounded sums, not sums of what was rounded.
      const std::uint64_t spent = sim::cpu::coarse(counts.stack[i]).ps();
      all_.spread(1 + i, of.seen, clock, spent - of.spent[i]);
      of.spent[i] = spent;
    }
    of.seen = max(of.seen, clock);
  }

  /// The thread does nothing until then.
  void idle(std::size_t thread, Tick until) {
    threads_[thread].seen = max(threads_[thread].seen, until);
  }

  /// Time and the cores' counts begin again at `begin`.
  void restart(Tick begin) {
    begin_ = begin;
    due_ = begin;
    all_.restart(begin);
    for (Seen& of : threads_) of = {.seen = begin, .instructions = TimeSeries<1>(begin)};
  }

  [[nodiscard]] const TimeSeries<kinds>& all() const { return all_; }
  [[nodiscard]] const TimeSeries<1>& instructions(std::size_t thread) const {
    return threads_[thread].instructions;
  }

 private:
  struct Seen {
    Tick seen{};
    std::uint64_t counted = 0;
    std::array<std::uint64_t, sim::cpu::causes> spent{};
    TimeSeries<1> instructions{};
  };

  Tick begin_{};
  Tick due_{};
  TimeSeries<kinds> all_;
  std::deque<Seen> threads_;
};

}  // namespace nearfar::frontend
