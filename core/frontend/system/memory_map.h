#pragma once

#include <array>
#include <cstdint>

#include "base/address.h"

namespace nearfar::frontend::system {

/// Where a PC has its memory, by physical address. One with more than 2 GiB has a part of it from
/// 4 GiB on; video memory and firmware, which plug-ins cannot tell from memory, lie between and
/// above.
class MemoryMap {
 public:
  struct Range {
    Address begin;
    Bytes bytes = 0;
  };

  explicit MemoryMap(Bytes memory) {
    constexpr std::uint64_t gib = std::uint64_t{1} << 30;
    if (memory <= 2 * gib) {
      ranges_ = {Range{Address(0), memory}, Range{}};
    } else {
      constexpr Bytes below = 3 * gib + gib / 2;
      ranges_ = {Range{Address(0), below}, Range{Address(4 * gib), memory - 2 * gib}};
    }
  }

  [[nodiscard]] bool has(Address address) const {
    for (const Range& range : ranges_) {
      if (address >= range.begin && address - range.begin < range.bytes) return true;
    }
    return false;
  }
  /// The second may be empty.
  [[nodiscard]] const std::array<Range, 2>& ranges() const { return ranges_; }

 private:
  std::array<Range, 2> ranges_;
};

}  // namespace nearfar::frontend::system
