#pragma once

#include <cstddef>
#include <span>

#include "tier/far/slots.h"
#include "tier/pager/page.h"

namespace nearfar::tier {

/// Keeps the contents of far pages, in slots that all processes of a tree share.
///
/// A page's entry says where its contents are: in a slot (`stored`), or in the entry itself
/// (`filled`), where the store can do that. Several pages are passed as entries side by side in the
/// page table, or as pointers to entries. Every function that moves contents returns how much it
/// moved, so that the pager can charge for emulated far memory. One thread at a time calls a store,
/// but for `in_place`, which any number may call meanwhile. A store that cannot go on (far memory
/// is full, damaged, or was cut short) ends the process with a message: the program's memory is
/// lost. It is never destroyed, and holds nothing that would have to be.
class FarStore {
 public:
  FarStore(const FarStore&) = delete;
  FarStore& operator=(const FarStore&) = delete;

  /// What moved between near and far memory.
  struct Traffic {
    std::size_t pages = 0;
    std::size_t bytes = 0;

    Traffic& operator+=(const Traffic& more) {
      pages += more.pages;
      bytes += more.bytes;
      return *this;
    }
  };
  /// Contents of pages that follow each other in memory.
  struct Run {
    const void* contents;
    std::size_t pages;
    Traffic traffic;
  };
  /// A page to be written: its entry, and its contents on their way out.
  struct Outgoing {
    Page* page;
    const void* contents;
  };
  struct Written {
    Traffic traffic;
    std::size_t filled = 0;  ///< pages that needed no slot
  };

  /// The contents of the first of these far pages, and of as many after it as are at hand:
  /// in place, or copied to `buffer`, which has room for all of them. Contents in place may be gone
  /// by the time they are read; `expect` tells.
  [[nodiscard]] virtual Run view(std::span<const Page> pages, unsigned char* buffer) = 0;
  /// Copies the contents of all these far pages to `to`.
  [[nodiscard]] virtual Traffic read(std::span<const Page> pages, unsigned char* to) = 0;
  /// The contents of a stored page where they lie, for any thread; null where they must be copied.
  [[nodiscard]] virtual const void* in_place(const Page& page) const = 0;
  /// The kernel could not read these pages in place: ends the process if they are not there any
  /// more.
  virtual void expect(std::span<const Page> pages) const = 0;

  /// Far copies of up to as many pages as `copies` has elements, to compare them with what leaves:
  /// `copies[i]` is that of `pages[i]`, in place or at the i-th page of `buffer`. Null pages are
  /// passed over.
  [[nodiscard]] virtual Traffic find_copies(std::span<const Page* const> pages,
                                            unsigned char* buffer,
                                            std::span<const void*> copies) = 0;
  /// Writes pages to their slots, or to new ones, and enters those.
  [[nodiscard]] virtual Written write(std::span<const Outgoing> pages) = 0;

  /// The page has no far copy any more.
  void discard(Page& page) {
    if (page.stored() && !page.borrowed) slots_.release(page.slot());
    page.set_slot(no_slot);
    page.borrowed = false;
    page.unchanged = false;
  }

  [[nodiscard]] Slots& slots() { return slots_; }
  /// The descriptor that the far memory is open by.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 protected:
  FarStore(const Slots& slots, int descriptor) : slots_(slots), descriptor_(descriptor) {}
  ~FarStore() = default;

  /// Enters a slot that `take` returned.
  static void enter(Page& page, Slot slot) {
    if (slot == no_slot) os::fail("the far file is full: all its slots are in use");
    page.set_slot(slot);
  }

 private:
  Slots slots_;
  int descriptor_;
};

}  // namespace nearfar::tier
