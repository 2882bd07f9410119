// Huge pages that leave as one, and come back as one. The policy names pages; where it names all of
// a group, one behind the other, that was filled by one huge page, the group moves into staging
// memory by one call, and its memory is freed as one when it has been written. What is hot or cold
// in part leaves page by page, and the kernel splits it.
//
// A group that has left so comes back so if read-ahead in order runs into it: it is read into a
// huge page of staging memory, which one call moves to its place. A huge page cannot take the place
// of a table for small pages, and a touch leaves such a table behind, unless the kernel may have
// huge pages there. So it may, of the groups that are expected next, and only of those, as it makes
// a huge page for each first write, in vain.

#include <algorithm>
#include <cstring>
#include <utility>

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
  const std::size_t moved = displace_all({chosen.data(), count});
  if (whole && moved == huge_pages) bare_.add(first);
  done += moved;
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

/// Whether the group that begins with this page, if one does, could come back as one.
bool Pager::comes_whole(PageNumber page) const {
  if (page % huge_pages != 0 || page >= table_.size() || !moves_whole() || !bare_.has(page))
    return false;
  for (PageNumber i = page; i < page + huge_pages; ++i)
    if (table_.state(i) != State::far) return false;
  return !foreign_.overlaps(place(page), place(page + huge_pages));
}

/// A stream will run into this group, if one begins here, next.
void Pager::expect_group(PageNumber first) {
  if (comes_whole(first)) expect(first);
}

void Pager::expect(PageNumber first) {
  if (expected_.find(first) != nullptr) return;
  PageNumber& expected = expected_.next();
  if (expected != no_page) expect_no_more(expected);
  expected = first;
  os::advise(place(first), huge_pages * page_bytes, MADV_HUGEPAGE);
}

void Pager::expect_no_more(PageNumber& expected) {
  const os::Place begin = place(std::exchange(expected, no_page));
  const os::Place end = begin + huge_pages * page_bytes;
  if (!foreign_.overlaps(begin, end)) os::advise(begin, end - begin, MADV_NOHUGEPAGE);
}

/// Brings in a group that was expected; how many of its pages came. None if it is to come page by
/// page.
std::size_t Pager::bring_group(PageNumber first) {
  if (!comes_whole(first)) return 0;
  expect_group(static_cast<PageNumber>(first + huge_pages));
  while (!budget_.try_charge(huge_pages))
    if (evict() == 0) return 0;
  *os::pointer<volatile char>(incoming_) = 0;
  os::Moved moved;
  if (is_huge(incoming_)) {
    read_group(first);
    moved = uffd_.move(place(first), incoming_, huge_pages * page_bytes, os::Waking::at_once);
  }
  const std::size_t done = moved.bytes / page_bytes;
  const bool as_one = done == huge_pages && is_huge(place(first));
  again_ = again_ || moved.error == -EAGAIN;
  for (std::size_t i = 0; i < done; ++i) arrived(static_cast<PageNumber>(first + i), i == 0);
  if (as_one) whole_.add(first);
  if (!again_) {
    bare_.remove(first);
    // Others that are expected may have taken its place.
    if (PageNumber* const expected = expected_.find(first)) expect_no_more(*expected);
  }
  // What is left, or the table for small pages that what is gone has left.
  if (!as_one) os::advise(incoming_, huge_pages * page_bytes, MADV_DONTNEED);
  budget_.release(huge_pages - done);
  control_.add(Count::copies_in, done);
  control_.add(as_one ? Count::huge_ins : Count::split_ins);
  return done;
}

/// Reads a far group to where it comes in.
void Pager::read_group(PageNumber first) {
  auto* const to = os::pointer<unsigned char>(incoming_);
  if (!far_.mapped()) {
    read_far(first, huge_pages, to);
    return;
  }
  for (std::size_t i = 0; i < huge_pages;) {
    const auto page = static_cast<PageNumber>(first + i);
    const Slot slot = table_[page].slot();
    const std::size_t run = adjacent_slots(page, huge_pages - i);
    far_.expect(slot + static_cast<Slot>(run) - 1);
    std::memcpy(to + i * page_bytes, far_.at(slot), run * page_bytes);
    emulate(run);
    i += run;
  }
}

/// Whether 2 MiB of memory are one page.
bool Pager::is_huge(os::Place at) const {
  std::array<os::PageMap::Run, 1> run;
  const os::Place end = at + huge_pages * page_bytes;
  os::Place from = at;
  return page_map_.find(from, end, run) == 1 && run[0].huge && run[0].begin == at &&
         run[0].end == end;
}

}  // namespace nearfar::tier
