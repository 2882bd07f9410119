#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tier/far/far_store.h"
#include "tier/pager/sizes.h"
#include "tier/pager/state.h"

namespace nearfar::tier {

/// Copies of far pages: of some on their way in, or of some on their way out, never both. One
/// thread at a time is the pager's, and forked children have their own.
alignas(
    os::page_bytes) inline constinit unsigned char far_copies[most_at_once * os::page_bytes] = {};

/// The contents of far pages by their numbers, and the time that emulated far memory takes for
/// them. Only this part reads and writes the far store.
class FarPages {
 public:
  explicit FarPages(PagerState& state) : state_(state) {}

  /// The contents of far pages from the first on, of `count` at most: where they lie, or in
  /// `far_copies` until the next call.
  [[nodiscard]] FarStore::Run view(PageNumber page, std::size_t count);
  /// The kernel could not read these pages where they lie: ends the process if they are gone.
  void expect(PageNumber page, std::size_t count) const {
    state_.store.expect(entries(page, count));
  }
  /// Reads the contents of `count` pages.
  void read(PageNumber page, std::size_t count, unsigned char* to);
  /// The contents of a stored page where they lie, for any thread; null where they must be copied,
  /// or where that takes emulated time.
  [[nodiscard]] const void* in_place(PageNumber page) const;

  using Copies = std::array<const void*, most_at_once>;
  /// The far copies of these pages; of null, anything.
  [[nodiscard]] Copies find_copies(std::span<const Page* const> pages);
  /// Writes pages to far memory, to their slots or to new ones.
  void write(std::span<const FarStore::Outgoing> pages);

 private:
  [[nodiscard]] std::span<const Page> entries(PageNumber page, std::size_t count) const {
    return {&state_.table[page], count};
  }
  void emulate(const FarStore::Traffic& traffic);

  PagerState& state_;
};

}  // namespace nearfar::tier
