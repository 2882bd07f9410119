#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/page_table.h"

namespace nearfar::tier {

/// Far pages that threads copy to their places by themselves at this moment, with nothing held. It
/// is changed and asked by whoever is the pager's one thread, but for `count`.
class InFlight {
 public:
  static constexpr std::size_t most = 16;

  /// False if the page is among them, or there are too many.
  [[nodiscard]] bool add(PageNumber page) {
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    PageNumber* const end = pages_.data() + count;
    if (count == most || std::find(pages_.data(), end, page) != end) return false;
    *end = page;
    count_.store(count + 1);
    return true;
  }
  /// One that is among them.
  void remove(PageNumber page) {
    const std::uint32_t left = count_.load(std::memory_order_relaxed) - 1;
    *std::find(pages_.data(), pages_.data() + left, page) = pages_[left];
    count_.store(left);
  }
  /// In a forked child, which has none.
  void clear() { count_.store(0); }

  [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] std::atomic<std::uint32_t>& count() { return count_; }

 private:
  std::array<PageNumber, most> pages_{};
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace nearfar::tier
