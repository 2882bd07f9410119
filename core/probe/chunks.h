#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/address.h"
#include "probe/clock.h"

namespace nearfar::probe {

/// A timing long enough to dwarf the clock's own cost, and short enough that most of them see
/// no interrupt: on a busy machine the fast ones among many are undisturbed.
struct Chunk {
  double ns = 0;
  std::uint64_t lines = 0;
  std::uint64_t at = 0;  ///< lines walked before it in its region; reads follow the writes
};

/// Chooses how much to do in one chunk: about `target_ns`, by the fastest seen so far.
class ChunkSize {
 public:
  /// Never more than `most` units, so that even a short measurement has several chunks.
  explicit ChunkSize(std::uint64_t most, double target_ns = 100'000)
      : most_(std::max<std::uint64_t>(most, 1)), target_ns_(target_ns) {}

  /// Whether the choice rests on a measurement.
  [[nodiscard]] bool settled() const { return fastest_ != std::numeric_limits<double>::max(); }

  [[nodiscard]] std::uint64_t units() const {
    if (!settled()) return std::min(first_units, most_);
    const double fitting = std::min(target_ns_ / std::max(fastest_, 1e-3), 1e12);
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(fitting), 1, most_);
  }
  void learn(double ns, std::uint64_t units) {
    fastest_ = std::min(fastest_, ns / static_cast<double>(units));
  }

 private:
  static constexpr std::uint64_t first_units = 64;
  std::uint64_t most_;
  double target_ns_;
  double fastest_ = std::numeric_limits<double>::max();
};

}  // namespace nearfar::probe
