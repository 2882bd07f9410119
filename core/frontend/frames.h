#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"

namespace nearfar::frontend {

/// The page frames of one tier, of 4 KiB and 2 MiB: handed out from the lowest address up, and
/// again when they have been given back.
class Frames {
 public:
  static constexpr Bytes small = 4096;
  static constexpr Bytes huge = Bytes{2} << 20;

  Frames(Address first, Bytes capacity)
      : first_(first), next_(first), end_(first + capacity / small * small) {}

  [[nodiscard]] std::optional<Address> take(bool is_huge) {
    auto& free = is_huge ? free_huge_ : free_small_;
    if (!free.empty()) {
      const Address frame = free.back();
      free.pop_back();
      ++taken_of(is_huge);
      return frame;
    }
    if (is_huge) align_next();
    const Bytes size = is_huge ? huge : small;
    if (end_ - next_ < size) return std::nullopt;
    const Address frame = next_;
    next_ = next_ + size;
    ++taken_of(is_huge);
    return frame;
  }

  void give_back(Address frame, bool is_huge) {
    (is_huge ? free_huge_ : free_small_).push_back(frame);
    --taken_of(is_huge);
  }

  [[nodiscard]] Address first() const { return first_; }
  [[nodiscard]] bool contains(Address frame) const { return frame >= first_ && frame < end_; }
  [[nodiscard]] Bytes capacity() const { return end_ - first_; }
  [[nodiscard]] Bytes in_use() const { return taken_small_ * small + taken_huge_ * huge; }

 private:
  [[nodiscard]] std::uint64_t& taken_of(bool is_huge) {
    return is_huge ? taken_huge_ : taken_small_;
  }
  /// The small frames that this passes are not lost.
  void align_next() {
    while (next_ < end_ && next_.value() % huge != 0) {
      free_small_.push_back(next_);
      next_ = next_ + small;
    }
  }

  Address first_, next_, end_;
  std::vector<Address> free_small_, free_huge_;
  std::uint64_t taken_small_ = 0, taken_huge_ = 0;
};

}  // namespace nearfar::frontend
