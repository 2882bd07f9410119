// Huge pages that leave as one. The policy names pages; where it names all of a group, one behind
// the other, that was filled by one huge page, the group moves into staging memory by one call, and
// its memory is freed as one when it has been written. What is hot or cold in part leaves page by
// page, and the kernel splits it.

#include <algorithm>

#include "tier/pager.h"

namespace nearfar::tier {

using os::page_bytes;

/// Whether staging memory has room for a huge page beside others, and the kernel moves it as one.
bool Pager::moves_whole() const { return uffd_.moves() && limbo_.capacity() >= 2 * huge_pages; }

/// Has the policy name more pages behind the first, as long as they are of the same group; how many
/// there are then. All of them, or what came in between, are to leave.
std::size_t Pager::choose_group(std::span<PageNumber, huge_pages> chosen) {
  std::size_t count = 1;
  while (count < chosen.size()) {
    const PageNumber page = table_.evict();
    if (page == no_page) break;
    chosen[count++] = page;
    if (page / huge_pages != chosen[0] / huge_pages) break;
  }
  return count;
}

/// Takes the pages that the policy names from `first` on, of a group that was filled as one, into
/// limbo; how many were named, and adds to `done` how many have moved.
std::size_t Pager::displace_group(PageNumber first, std::size_t& done) {
  while (limbo_.room_aligned(huge_pages) < huge_pages && drain(batch()) != 0) {
  }
  std::array<PageNumber, huge_pages> chosen;
  chosen[0] = first;
  const std::size_t count = choose_group(chosen);
  std::sort(chosen.begin(), chosen.begin() + count);
  const bool whole = chosen[0] % huge_pages == 0 && chosen[count - 1] == chosen[0] + huge_pages - 1;
  if (whole) {
    limbo_.align(huge_pages);
    // A table for small pages that is left there would make the kernel split the huge page.
    os::advise(staged(limbo_.next_position()), huge_pages * page_bytes, MADV_DONTNEED);
    control_.add(Count::huge_moves);
  }
  whole_.remove(first);
  done += displace_all({chosen.data(), count});
  return count;
}

/// Finishes the oldest pages in limbo if they came there as one; how many.
std::size_t Pager::drain_whole() {
  const std::size_t position = limbo_.oldest();
  if (!moves_whole() || position % huge_pages != 0 || limbo_.span() < huge_pages) return 0;
  const PageNumber first = limbo_.at(position);
  if (first == no_page || first % huge_pages != 0) return 0;
  for (std::size_t i = 1; i < huge_pages; ++i)
    if (limbo_.at(position + i) != first + i) return 0;
  for (std::size_t i = 0; i < huge_pages; i += most_at_once) write_staged(position + i);
  release_staged(position, huge_pages);
  return huge_pages;
}

}  // namespace nearfar::tier
