#pragma once

#include <cstddef>

#include "tier/far/far_file.h"
#include "tier/far/packed_file.h"
#include "tier/pager/limbo.h"
#include "tier/pager/sizes.h"
#include "tier/pager/state.h"

namespace nearfar::tier {

/// Copies of far pages: of some on their way in, or of some on their way out, never both. One
/// thread at a time is the pager's, and forked children have their own.
alignas(
    os::page_bytes) inline constinit unsigned char far_copies[most_at_once * os::page_bytes] = {};

/// The contents of far pages, as the page table says where they are: in slots of a page each, or
/// compressed in slots of many sizes. The only part that knows the far file.
class FarPages {
 public:
  FarPages(PagerState& state, FarFile file);

  /// Maps the file where that is of use.
  void start();
  [[nodiscard]] int descriptor() const { return file_.descriptor(); }
  /// Whether far pages can be copied to their place from where they lie.
  [[nodiscard]] bool in_place() const { return file_.mapped(); }
  /// Whether moving a page takes emulated time.
  [[nodiscard]] bool takes_time() const;

  /// Pages that lie side by side in the file as well.
  struct Run {
    const unsigned char* contents;
    std::size_t pages;
  };
  /// Where the far pages from `page` on lie, `most` at most, if they lie in place.
  [[nodiscard]] Run run(PageNumber page, std::size_t most);
  /// Ends the process if the file does not reach to the end of that run.
  void expect(PageNumber page, const Run& run) const;
  /// One page, where it lies in place.
  [[nodiscard]] const void* at(PageNumber page) const {
    return file_.at(state_.table[page].slot());
  }

  /// The contents of `count` pages, in place or where they have been read to; until the next call.
  [[nodiscard]] const void* view(PageNumber page, std::size_t count);
  /// Reads the contents of `count` pages.
  void read(PageNumber page, std::size_t count, unsigned char* to);

  /// Reads the far copies of those leaving pages that `is_compared` names, for `copy_of`.
  template <typename IsCompared>
  void read_copies(const Leaving& leaving, const IsCompared& is_compared);
  /// The far copy of one of these; anything if it is not compared.
  [[nodiscard]] const void* copy_of(const Leaving& leaving, std::size_t i) const {
    if (!in_place()) return far_copies + i * os::page_bytes;
    const Slot slot = state_.table[state_.limbo.at(leaving.positions[i])].slot();
    return slot == no_slot ? nullptr : file_.at(slot);
  }

  [[nodiscard]] bool compresses() const { return packed_.used(); }
  /// Writes leaving pages that lie side by side, from the `first` on, to adjacent slots.
  void write(const Leaving& leaving, std::size_t first, std::size_t pages, Slot to);
  /// The slot that a page is written to, its own or a new one. Ends the process if none is free.
  [[nodiscard]] Slot own_slot(Page& entry);
  /// Compresses a page into a slot of the right size, or into its entry where one word says all.
  void pack(Page& entry, const void* contents);

 private:
  [[nodiscard]] std::size_t adjacent_slots(PageNumber page, std::size_t most) const;
  void read_copy_run(Slot slot, std::size_t first, std::size_t pages);
  void read_packed(PageNumber page, unsigned char* to);
  [[nodiscard]] Slot take_slot(Slot slot) const;
  void emulate(std::size_t pages) { emulate(pages, pages * os::page_bytes); }
  void emulate(std::size_t pages, std::size_t bytes);

  PagerState& state_;
  FarFile file_;
  PackedFile packed_;
};

template <typename IsCompared>
void FarPages::read_copies(const Leaving& leaving, const IsCompared& is_compared) {
  const auto page = [&](std::size_t i) { return state_.limbo.at(leaving.positions[i]); };
  const auto slot = [&](std::size_t i) { return state_.table[page(i)].slot(); };
  if (in_place()) {
    file_.expect_written();  // all that is compared now, and written in place next
    if (!takes_time()) return;
  }
  for (std::size_t i = 0; i < leaving.count;) {
    std::size_t run = 1;
    if (!is_compared(page(i))) {
      ++i;
      continue;
    }
    if (compresses()) {
      read_packed(page(i), far_copies + i * os::page_bytes);
    } else if (in_place()) {
      emulate(1);
    } else {
      while (i + run < leaving.count && is_compared(page(i + run)) &&
             slot(i + run) == slot(i) + run)
        ++run;
      read_copy_run(slot(i), i, run);
    }
    i += run;
  }
}

}  // namespace nearfar::tier
