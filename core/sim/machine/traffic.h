#pragma once

#include <array>
#include <cstdint>

#include "base/tick.h"
#include "base/time_series.h"
#include "sim/request.h"

namespace nearfar::sim {

/// Lines that were read and written over time. Adding one costs a comparison and a sum: the series
/// is told when a bucket is over.
class Traffic {
 public:
  using Series = TimeSeries<2>;  ///< by operation

  /// Forgets everything; time begins at `at`.
  void restart(Tick at) {
    series_.restart(at);
    moved_ = {};
    opened_ = end_ = at;
  }

  /// Times never decrease, and none lies before the beginning.
  void add(Op op, Tick now) {
    if (now >= end_) open(now);
    ++moved_[static_cast<std::size_t>(op)];
  }

  [[nodiscard]] Series series() const {
    Traffic closed = *this;
    closed.close();
    return closed.series_;
  }

 private:
  void open(Tick now) {
    close();
    opened_ = now;
    end_ = series_.end_of(now);
  }

  void close() {
    for (std::size_t op = 0; op < moved_.size(); ++op) {
      if (moved_[op] != 0) series_.add(op, opened_, moved_[op]);
    }
    moved_ = {};
  }

  Series series_;
  std::array<std::uint64_t, 2> moved_{};  // in the bucket that is open
  Tick opened_;                           // a time in it
  Tick end_;
};

}  // namespace nearfar::sim
