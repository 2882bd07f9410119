#pragma once

#include <cstdint>
#include <utility>

#include "frontend/qemu/translated.h"

namespace nearfar::frontend::qemu {

/// Counts what a thread executes while nothing else is told of it.
class Passing {
 public:
  /// Whether so many have passed that it is time to look. Steps of a rep instruction are one.
  [[nodiscard]] bool pass(const Translated& block) {
    const bool goes_on = last_ != nullptr && block.goes_on(*last_);
    last_ = &block;
    if (!goes_on) count_ += block.block.instructions.size();
    return count_ >= limit_;
  }

  /// How many have passed since the last time; the next look is after `limit` more.
  std::uint64_t take() { return std::exchange(count_, 0); }
  void look_after(std::uint64_t limit) { limit_ = limit; }

 private:
  const Translated* last_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t limit_ = 0;
};

}  // namespace nearfar::frontend::qemu
