#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar::tier {

using PageNumber = std::uint32_t;
using Slot = std::uint32_t;  ///< where in the far file; `no_slot`: nowhere
inline constexpr PageNumber no_page = ~PageNumber{0};
inline constexpr Slot no_slot = ~Slot{0};

/// Where a page's contents are.
enum class State : std::uint8_t {
  fresh,  ///< nowhere: never touched, or given back; reads as zeros
  near,   ///< in its place, and in the list of resident pages
  limbo,  ///< taken out of its place but still in RAM; `next` is its position in the ring
  far,    ///< in its slot only
};

/// What is known of one page, 16 bytes. All zeros is a fresh page.
struct Page {
  PageNumber next;          ///< in the list of resident pages, or the position in limbo
  PageNumber previous;      ///< in the list
  Slot slot_plus_one;       ///< a copy in the far file, of which a resident page may be ahead
  State state;
  bool borrowed;            ///< the slot belongs to the process that this one was forked from
  std::uint16_t unused;

  [[nodiscard]] Slot slot() const { return slot_plus_one - 1; }
  void set_slot(Slot slot) { slot_plus_one = slot + 1; }
};
static_assert(sizeof(Page) == 16);

/// The state of every page of the arena, flat, and the resident ones in the order in which they
/// came. The memory is the caller's and must start as zeros; groups of pages that were never used
/// are never read, so that they cost nothing.
class PageTable {
 public:
  /// Pages whose entries share a page of memory.
  static constexpr std::size_t group = 256;

  PageTable() = default;
  /// `groups` has one byte for each `group` of `pages`.
  PageTable(Page* pages, std::uint8_t* groups, std::size_t count)
      : pages_(pages), groups_(groups), count_(count) {}

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Page& operator[](PageNumber page) { return pages_[page]; }
  [[nodiscard]] const Page& operator[](PageNumber page) const { return pages_[page]; }

  /// The state, without touching an entry that was never written.
  [[nodiscard]] State state(PageNumber page) const {
    return groups_[page / group] == 0 ? State::fresh : pages_[page].state;
  }

  /// Must come before a page's entry is written. True if that costs a new page of memory.
  bool use(PageNumber page) {
    std::uint8_t& used = groups_[page / group];
    const bool first = used == 0;
    used = 1;
    return first;
  }

  /// The first page from `page` on, before `end`, that is not fresh; `end` if there is none.
  [[nodiscard]] PageNumber next_used(PageNumber page, PageNumber end) const {
    while (page < end) {
      if (groups_[page / group] == 0) {
        page = static_cast<PageNumber>((page / group + 1) * group);
      } else if (pages_[page].state == State::fresh) {
        ++page;
      } else {
        return page;
      }
    }
    return end;
  }

  [[nodiscard]] std::size_t resident() const { return resident_; }
  [[nodiscard]] PageNumber oldest() const { return oldest_; }

  /// Makes a page resident, the newest of all.
  void push(PageNumber page) {
    pages_[page].state = State::near;
    pages_[page].next = no_page;
    pages_[page].previous = newest_;
    (newest_ == no_page ? oldest_ : pages_[newest_].next) = page;
    newest_ = page;
    ++resident_;
  }

  /// Takes a resident page out of the list; its state is the caller's to say.
  void remove(PageNumber page) {
    const Page& entry = pages_[page];
    (entry.previous == no_page ? oldest_ : pages_[entry.previous].next) = entry.next;
    (entry.next == no_page ? newest_ : pages_[entry.next].previous) = entry.previous;
    --resident_;
  }

 private:
  Page* pages_ = nullptr;
  std::uint8_t* groups_ = nullptr;
  std::size_t count_ = 0;
  std::size_t resident_ = 0;
  PageNumber oldest_ = no_page;
  PageNumber newest_ = no_page;
};

}  // namespace nearfar::tier
