#pragma once

#include <array>
#include <cstddef>

#include "policy/replacement/reuse_table.h"

namespace nearfar::policy {

/// How far what is known of a page still holds when it leaves, by how long it has been resident,
/// unseen. After a stay of each length, in the half octaves of ages: the uses that happened, and
/// those that were promised for the time until then. Where pages are used at random it is all; of
/// pages of which a phase or a burst has made use, little is left after a long stay.
class StayTable {
 public:
  static constexpr std::size_t lengths = ReuseTable::ages;

  void used(std::size_t length) { cells_[length].uses += 1; }
  void promised(std::size_t length, float uses) { cells_[length].promised += uses; }
  [[nodiscard]] float holds(std::size_t length) const {
    return (cells_[length].uses + before) / (cells_[length].promised + before);
  }
  /// Old sums fade, by a twenty-fifth at each call.
  void fade() {
    for (Cell& cell : cells_) cell = {cell.uses * kept, cell.promised * kept};
  }

 private:
  static constexpr float before = 4;  // uses, all as promised, before any were seen
  static constexpr float kept = 0.96F;

  struct Cell {
    float uses = 0;
    float promised = 0;
  };
  std::array<Cell, lengths> cells_{};
};

}  // namespace nearfar::policy
