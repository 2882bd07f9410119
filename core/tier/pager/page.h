#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar::tier {

using PageNumber = std::uint32_t;
using Slot = std::uint32_t;  ///< a place in far memory; `no_slot`: none
inline constexpr PageNumber no_page = ~PageNumber{0};
inline constexpr Slot no_slot = ~Slot{0};
/// Slots from here on do not exist: the page is one word of 32 bits, repeated. The slot's number
/// has the upper half of that word, and `position` the lower half.
inline constexpr Slot first_filled = Slot{1} << 31U;

/// Where a page's contents are.
enum class State : std::uint8_t {
  fresh,  ///< nowhere: never touched, or discarded; reads as zeros
  near,   ///< in its place, and one of the policy's resident pages
  limbo,  ///< taken out of its place but still in RAM, at `position` in the ring
  far,    ///< in its slot only
};

/// What the pager knows of one page, 8 bytes. All zeros is a fresh page.
struct Page {
  Slot slot_plus_one;      ///< of the far copy, which is older than a resident page may be
  std::uint16_t position;  ///< in limbo
  State state;
  bool borrowed : 1;   ///< the slot belongs to the process that this one was forked from
  bool written : 1;    ///< written to since it came in, so that its far copy is out of date
  bool write_protected : 1;  ///< it still equals its far copy
  bool unchanged : 1;  ///< it equalled its far copy when it last left

  [[nodiscard]] Slot slot() const { return slot_plus_one - 1; }
  void set_slot(Slot slot) { slot_plus_one = slot + 1; }
  /// Whether it has a far copy in a slot.
  [[nodiscard]] bool stored() const { return slot_plus_one != 0 && slot() < first_filled; }

  /// Whether its far copy is one repeated word, which takes no slot.
  [[nodiscard]] bool filled() const { return slot_plus_one != 0 && slot() >= first_filled; }
  [[nodiscard]] std::uint32_t word() const { return slot() << 16U | position; }
  void fill_with(std::uint32_t word) {
    set_slot(first_filled | word >> 16U);
    position = static_cast<std::uint16_t>(word);
  }
};
static_assert(sizeof(Page) == 8);

/// Where the state lies in an entry, for a reader outside the process.
inline constexpr std::size_t page_state_offset = offsetof(Page, state);
static_assert(page_state_offset == 6);

}  // namespace nearfar::tier
