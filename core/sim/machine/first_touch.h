#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/address.h"

namespace nearfar::sim {

/// Gives the pages of a program frames of memory, from address 0 up, in the order in which the
/// program touches them first.
class FirstTouch {
 public:
  static constexpr Bytes page_bytes = 4096;

  explicit FirstTouch(Bytes capacity) : frames_(capacity / page_bytes) {}

  /// Where a virtual address lies; nothing when its page found memory full.
  [[nodiscard]] std::optional<Address> place(Address address) {
    const std::uint64_t page = address.block(page_bytes);
    if (page != last_page_ || used_.empty()) {
      const auto [entry, fresh] = used_.try_emplace(page, used_.size());
      if (fresh && entry->second >= frames_) return std::nullopt;
      last_page_ = page;
      last_frame_ = entry->second;
    }
    return Address(last_frame_ * page_bytes + address.value() % page_bytes);
  }

 private:
  std::uint64_t frames_;
  std::unordered_map<std::uint64_t, std::uint64_t> used_;  // only ever asked for one page
  std::uint64_t last_page_ = 0;
  std::uint64_t last_frame_ = 0;
};

}  // namespace nearfar::sim
