#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tier/os/system.h"
#include "tier/pager/expected_groups.h"
#include "tier/pager/windows.h"

namespace nearfar::tier {

/// Huge pages of staging memory that pass from groups that have left to groups that are read to
/// come, so that the kernel need not free the one and clear another. One waits to be taken.
class RecycledGroups {
 public:
  static constexpr std::size_t most = ExpectedGroups::most + 1;
  static constexpr std::size_t bytes = most * huge_bytes;

  RecycledGroups() = default;
  /// Of addresses from `base` on, where nothing is.
  explicit RecycledGroups(os::Place base) : base_(base) {}

  [[nodiscard]] bool has_spare() const { return spare_ != nowhere; }
  /// Where nothing is; nowhere if one waits already.
  [[nodiscard]] os::Place room() const {
    std::size_t i = 0;
    while (i < most && (used_ >> i & 1U) != 0) ++i;
    return has_spare() || i == most ? nowhere : base_ + i * huge_bytes;
  }
  /// A huge page lies there now, and waits.
  void keep(os::Place at) {
    used_ |= bit(at);
    spare_ = at;
  }
  /// The one that waits, and does so no more; nowhere if there is none.
  [[nodiscard]] os::Place take() { return std::exchange(spare_, nowhere); }
  /// Nothing lies there any more, if it is one of these.
  void empty(os::Place at) {
    if (at >= base_ && at < base_ + bytes) used_ &= ~bit(at);
  }

  static constexpr os::Place nowhere = 0;

 private:
  [[nodiscard]] std::uint32_t bit(os::Place at) const { return 1U << (at - base_) / huge_bytes; }

  os::Place base_ = nowhere;
  os::Place spare_ = nowhere;
  std::uint32_t used_ = 0;
};
static_assert(RecycledGroups::most <= 32);

}  // namespace nearfar::tier
