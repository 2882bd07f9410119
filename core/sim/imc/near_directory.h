#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "sim/imc/near_config.h"

namespace nearfar::sim::imc {

/// Which lines of the far memory a near memory holds, and what of them was written: a tag
/// directory without data, time or traffic.
///
/// Line l belongs to set l mod sets, of which there may be any number. A near memory has
/// billions of lines of which a simulation touches a few, so sets come into being, empty, in
/// pages when one of them is first asked for; a hash table finds the page. Replacement takes
/// an empty way first. Random replacement draws from the set and how often it was filled, so
/// what is thrown out depends on nothing but the set's own accesses.
class NearDirectory {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// What an insert threw out.
  struct Victim {
    std::uint32_t way = 0;        ///< where the new line is now
    bool valid = false;           ///< there was a line
    std::uint64_t line = 0;
    std::uint64_t dirty = 0;      ///< a bit for each of its 64-byte blocks
  };

  NearDirectory(std::uint64_t sets, std::uint32_t ways, NearPolicy policy, std::uint64_t seed);

  [[nodiscard]] std::uint64_t set_of(std::uint64_t line) const { return line % sets_; }

  /// The way that holds `line`, or none.
  [[nodiscard]] std::uint32_t find(std::uint64_t line) { return find(line, set_of(line)); }
  /// As find(line), the line's set being known.
  [[nodiscard]] std::uint32_t find(std::uint64_t line, std::uint64_t set) {
    const Way* const first = &ways_of_[first_way(set)];
    for (std::uint32_t way = 0; way < ways_; ++way) {
      if (first[way].line == line) return way;
    }
    return none;
  }

  /// Says that a hit used the line, which is in `way`.
  void touch(std::uint64_t line, std::uint32_t way) {
    if (policy_ == NearPolicy::lru && ways_ > 1) stamp(line, way);
  }

  /// Puts `line`, which must not be present, into the way whose turn it is, clean.
  Victim insert(std::uint64_t line);

  /// Marks blocks of the line, which is in `way`; returns those that were clean before.
  std::uint64_t mark_dirty(std::uint64_t line, std::uint32_t way, std::uint64_t blocks);

  void state(Archive& archive) {
    archive(ways_of_, stamps_, clocks_, pages_, places_, shift_, in_use_, last_page_, last_place_);
  }

 private:
  static constexpr std::uint64_t empty = ~std::uint64_t{0};

  struct Way {
    std::uint64_t line = empty;
    std::uint64_t dirty = 0;
  };

  /// Where the ways of a set begin.
  [[nodiscard]] std::size_t first_way(std::uint64_t set) {
    const std::uint64_t page = set / page_sets_;
    if (page != last_page_) {
      last_place_ = page_of(page);
      last_page_ = page;
    }
    return (last_place_ * page_sets_ + set % page_sets_) * ways_;
  }
  void stamp(std::uint64_t line, std::uint32_t way);
  [[nodiscard]] std::size_t home(std::uint64_t page) const {
    return page * 0x9e3779b97f4a7c15u >> shift_;
  }
  /// Where the page is. Most pages lie at home; others are searched for, or come into being.
  [[nodiscard]] std::size_t page_of(std::uint64_t number) {
    const std::size_t at = home(number);
    return pages_[at] == number ? places_[at] : search(number);
  }
  [[nodiscard]] std::size_t search(std::uint64_t number);
  void grow();
  [[nodiscard]] std::uint32_t victim(std::uint64_t set, std::size_t first);

  std::uint64_t sets_;
  std::uint32_t ways_;
  std::uint32_t page_sets_;  ///< sets of a page
  NearPolicy policy_;
  std::uint64_t seed_;
  std::vector<Way> ways_of_;            ///< page by page, set by set
  std::vector<std::uint64_t> stamps_;   ///< of each way: when it was used or filled
  std::vector<std::uint64_t> clocks_;   ///< of each set: its uses or fills so far
  std::vector<std::uint64_t> pages_;    ///< open addressing: page number, or empty
  std::vector<std::uint32_t> places_;   ///< beside it, where the page is
  std::uint32_t shift_ = 0;
  std::size_t in_use_ = 0;
  std::uint64_t last_page_ = empty;
  std::size_t last_place_ = 0;
};

}  // namespace nearfar::sim::imc
