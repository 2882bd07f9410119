#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace nearfar::frontend {

/// Calls `take(page)` for every page of 4 KiB in [begin, end) that a program has ever touched.
using TouchedPages = std::function<void(std::uint64_t begin, std::uint64_t end,
                                        const std::function<void(std::uint64_t page)>& take)>;

/// Pages of 4 KiB, by their addresses.
class PageSet {
 public:
  /// Whether the page was not in it before.
  bool add(std::uint64_t page) {
    auto bit = pages_[page / part][page % part / page_bytes];
    const bool is_new = !bit;
    bit = true;
    return is_new;
  }

  void remove(std::uint64_t begin, std::uint64_t end) {
    for (auto at = pages_.lower_bound(begin / part); at != pages_.end(); ++at) {
      const std::uint64_t first = at->first * part;
      if (first >= end) return;
      for (std::size_t i = 0; i < in_part; ++i) {
        const std::uint64_t page = first + i * page_bytes;
        if (page >= begin && page < end) at->second.reset(i);
      }
    }
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::size_t in_part = 512;
  static constexpr std::uint64_t part = page_bytes * in_part;

  std::map<std::uint64_t, std::bitset<in_part>> pages_;
};

}  // namespace nearfar::frontend
