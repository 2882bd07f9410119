// Huge pages that leave as one, and come back as one. The policy names pages; where it has named
// all of a group that was filled by one huge page, the group moves into staging memory by one call,
// and its memory is freed as one when it has been written. What is hot or cold in part leaves page
// by page, and the kernel splits it.
//
// A group that has left so comes back so if read-ahead in order runs into it: it is read into a
// huge page of staging memory, which one call moves to its place. A huge page cannot take the place
// of a table for small pages, and a touch leaves such a table behind, unless the kernel may have
// huge pages there. So it may, of the groups that are expected next, and only of those, as it makes
// a huge page for each first write, in vain.

#include <algorithm>
#include <cstring>
#include <utility>

#include "tier/pager/pager.h"

namespace nearfar::tier {

using os::page_bytes;

/// Whether staging memory has room for a huge page beside others, and the kernel moves it as one.
bool Pager::moves_whole() const { return uffd_.moves() && limbo_.capacity() >= 2 * huge_pages; }

/// Takes what the policy has named of a group that was filled as one into limbo, but for what has
/// left meanwhile; how many pages.
std::size_t Pager::displace_group(const LeavingGroups::Group& group) {
  if (group.first == no_page) return 0;
  while (limbo_.room_aligned(huge_pages) < huge_pages && drain(batch()) != 0) {
  }
  std::array<PageNumber, huge_pages> chosen;
  std::size_t count = 0;
  for (PageNumber page = group.first; page < group.first + huge_pages; ++page)
    if (group.has(page) && table_.state(page) == State::near) chosen[count++] = page;
  const bool whole = count == huge_pages;
  if (whole) {
    limbo_.align(huge_pages);
    // A table for small pages that is left there would make the kernel split the huge page.
    memory_.advise(staged(limbo_.next_position()), huge_bytes, MADV_DONTNEED);
    control_.add(Count::huge_moves);
  }
  whole_.remove(group.first);
  const std::size_t moved = displace_all({chosen.data(), count});
  if (whole && moved == huge_pages) unpopulated_.add(group.first);
  return moved;
}

/// What the policy has named and has not left is its again.
void Pager::let_groups_stay() {
  for (LeavingGroups::Group group = leaving_.take_oldest(); group.first != no_page;
       group = leaving_.take_oldest()) {
    for (PageNumber page = group.first; page < group.first + huge_pages; ++page)
      if (group.has(page) && table_.state(page) == State::near) table_.refuse(page);
  }
}

/// Whether the pages in limbo from this position on came there as one.
bool Pager::is_whole(std::size_t position) const {
  if (!moves_whole() || position % huge_pages != 0 || position >= limbo_.capacity()) return false;
  const PageNumber first = limbo_.at(position);
  if (first == no_page || first % huge_pages != 0) return false;
  for (std::size_t i = 1; i < huge_pages; ++i)
    if (limbo_.at(position + i) != first + i) return false;
  return true;
}

/// Finishes the oldest pages in limbo if they came there as one; how many.
std::size_t Pager::drain_whole() {
  const std::size_t position = limbo_.oldest();
  if (!is_whole(position)) return 0;
  for (std::size_t i = 0; i < huge_pages; i += most_at_once) write_staged(position + i);
  if (!recycle(position)) release_staged(position, huge_pages);
  return huge_pages;
}

/// Keeps the memory of a group that has been written for the next that is read, if any is expected.
/// It stays charged, so not if others could use it, or if little else were free.
bool Pager::recycle(std::size_t position) {
  if (kept_ || budget_.others() != 0 || low_watermark() < 2 * huge_pages) return false;
  const os::Place to = recycled_.room();
  if (to == RecycledGroups::nowhere || !expected_.any()) return false;
  if (staging_uffd_.move(to, staged(position), huge_bytes).bytes != huge_bytes) {
    memory_.advise(to, huge_bytes, MADV_DONTNEED);
    return false;
  }
  for (std::size_t i = 0; i < huge_pages; ++i) limbo_.remove(position + i);
  recycled_.keep(to);
  if (!is_huge(to)) drop_recycled();
  return true;
}

/// Gives up the memory that waits for a group to come; false if there is none.
bool Pager::drop_recycled() {
  if (!recycled_.has_spare()) return false;
  drop_group_memory(recycled_.take());
  return true;
}

/// Gives up memory that a group was, or would have been, read to.
void Pager::drop_group_memory(os::Place memory) {
  memory_.advise(memory, huge_bytes, MADV_DONTNEED);
  recycled_.empty(memory);
  budget_.release(huge_pages);
}

/// Whether the group that begins with this page, if one does, could come back as one.
bool Pager::comes_whole(PageNumber page) const {
  if (page % huge_pages != 0 || page >= table_.size() || !moves_whole() || !unpopulated_.has(page))
    return false;
  for (PageNumber i = page; i < page + huge_pages; ++i)
    if (table_.state(i) != State::far) return false;
  return !unmanaged_.overlaps(place(page), place(page + huge_pages));
}

/// A page of the group has come back, or has other contents: it is not to come as it was.
void Pager::mark_populated(PageNumber page) {
  if (!unpopulated_.has(page)) return;
  unpopulated_.remove(page);
  const auto first = static_cast<PageNumber>(page - page % huge_pages);
  if (ExpectedGroups::Group* const group = expected_.find(first)) drop_read(*group);
}

/// A stream has come to here: it will run into this group next, if one begins here, or into one
/// behind it, if all between is near. It has `passed` so many that it had been expected at. The
/// place of `kept` is not taken.
void Pager::expect_group(PageNumber from, std::size_t passed, PageNumber kept) {
  const PageNumber first = next_whole(from);
  if (first != no_page) expect(first, passed, kept);
}

/// The next group from here on that could come back as one, if all before it is near; or `no_page`.
PageNumber Pager::next_whole(PageNumber from) const {
  const std::size_t end = std::min(from + Streams::farthest, table_.size());
  for (PageNumber page = from; page < end; ++page) {
    if (comes_whole(page)) return page;
    if (!is_in(page)) break;
  }
  return no_page;
}

/// Expects one more group, behind one that has been read already, as a stream that has run into
/// some will go on beyond that; false if there is none, or no room to read it.
bool Pager::expect_further() {
  constexpr std::uint64_t now_and_then = 32;  // faults
  if (!can_hold() || expected_.find(no_page) == nullptr) return false;
  for (ExpectedGroups::Group& group : expected_.all()) {
    if (group.first == no_page || group.read != huge_pages || group.passed == 0) continue;
    if (group.looked_behind != 0 && faults_ - group.looked_behind < now_and_then) continue;
    group.looked_behind = faults_;
    const PageNumber next = next_whole(static_cast<PageNumber>(group.first + huge_pages));
    if (next == no_page || expected_.find(next) != nullptr) continue;
    expect(next, group.passed);
    expected_.find(next)->chained = true;
    return true;
  }
  return false;
}

void Pager::expect(PageNumber first, std::size_t passed, PageNumber kept) {
  if (ExpectedGroups::Group* const known = expected_.find(first)) {
    known->chained = false;
    known->passed = std::max(known->passed, passed);
    return;
  }
  ExpectedGroups::Group& group = expected_.next(kept);
  if (group.first != no_page) expect_no_more(group);
  expected_.expect(group, first, passed);
  memory_.advise(place(first), huge_bytes, MADV_HUGEPAGE);
}

void Pager::expect_no_more(ExpectedGroups::Group& group) {
  drop_read(group);
  const os::Place begin = place(std::exchange(group, {}).first);
  const os::Place end = begin + huge_bytes;
  if (!unmanaged_.overlaps(begin, end)) memory_.advise(begin, end - begin, MADV_NOHUGEPAGE);
}

/// Reads some of a group that is expected, so that who touches it does not wait for that. False if
/// nothing is to be read, or there is no room.
bool Pager::read_expected() {
  // Threads that bring their pages in themselves have nobody to do so for them.
  if (faults_as_ == os::Faults::signal) return false;
  for (;;) {
    ExpectedGroups::Group* const next = expected_.oldest(
        [](const ExpectedGroups::Group& group) { return group.read < huge_pages && !group.unfit; });
    if (next == nullptr && expect_further()) continue;
    if (next == nullptr || (!next->held() && !can_hold())) return false;
    if (comes_whole(next->first)) {
      if (!next->held() && !charge_group()) return false;
      if (next->held() || hold(*next)) {
        read_group(*next, most_at_once);
        return true;
      }
    }
    drop_read(*next);
    next->unfit = true;
  }
}

/// Whether there is room to read one more group ahead. Of near memory, an eighth at most waits so.
bool Pager::can_hold() const {
  constexpr std::uint64_t part = 8;
  return (expected_.held() + 1) * huge_pages <= budget_.limit() / part &&
         (recycled_.has_spare() || budget_.free() >= huge_pages);
}

/// Charges memory for a group, if it does not have what another has left. False if there is none.
bool Pager::charge_group() { return recycled_.has_spare() || budget_.try_charge(huge_pages); }

/// Gives a group memory to be read to, which is charged already; whether that is a huge page.
bool Pager::hold(ExpectedGroups::Group& group) {
  group.memory = recycled_.take();
  if (group.held()) {
    control_.add(Count::recycled_ins);
  } else {
    group.memory = incoming_ + expected_.index(group) * huge_bytes;
    *os::pointer<volatile char>(group.memory) = 0;
  }
  group.held_since = faults_;
  return is_huge(group.memory);
}

/// What has been read of a group is given up.
void Pager::drop_read(ExpectedGroups::Group& group) {
  if (!group.held()) return;
  drop_group_memory(std::exchange(group.memory, 0));
  group.read = 0;
}

/// A group that nobody has run into for many faults is expected no more; false if there is none.
bool Pager::expect_old_no_more() {
  constexpr std::uint64_t many = 4096;
  ExpectedGroups::Group* const old = expected_.oldest([this](const ExpectedGroups::Group& group) {
    return group.held() && faults_ - group.held_since > many;
  });
  if (old != nullptr) expect_no_more(*old);
  return old != nullptr;
}

/// What has been read of any is given up, and what waits to be read to; whether there was some.
bool Pager::drop_all_read() {
  bool any = drop_recycled();
  while (ExpectedGroups::Group* const group =
             expected_.oldest([](const ExpectedGroups::Group& other) { return other.held(); })) {
    drop_read(*group);
    any = true;
  }
  return any;
}

/// Brings in a group that was expected; how many of its pages came. None if it is to come page by
/// page.
std::size_t Pager::bring_group(PageNumber first) {
  if (!comes_whole(first)) return 0;
  ExpectedGroups::Group& group = *expected_.find(first);
  group.chained = false;
  expect_group(static_cast<PageNumber>(first + huge_pages), group.passed + 1, first);
  const bool ready = group.read == huge_pages;
  bool fit = group.held();
  if (!fit) {
    while (!charge_group())
      if (evict() == 0) return 0;
    fit = hold(group);
  }
  os::Moved moved;
  if (fit) {
    read_group(group, huge_pages);
    moved = uffd_.move(place(first), group.memory, huge_bytes, waking_);
  }
  if (moved.bytes == 0 && moved.error == -EAGAIN) {
    again_ = true;
    return 0;
  }
  const std::size_t done = moved.bytes / page_bytes;
  const bool as_one = done == huge_pages && is_huge(place(first));
  // What is left, or the table for small pages that what is gone has left.
  if (!as_one) memory_.advise(group.memory, huge_bytes, MADV_DONTNEED);
  recycled_.empty(std::exchange(group.memory, 0));
  unpopulated_.remove(first);
  expect_no_more(group);
  for (std::size_t i = 0; i < done; ++i) arrived(static_cast<PageNumber>(first + i), i == 0);
  if (as_one) whole_.add(first);
  budget_.release(huge_pages - done);
  control_.add(Count::copies_in, done);
  control_.add(as_one ? Count::huge_ins : Count::split_ins);
  if (as_one && ready) control_.add(Count::ready_ins);
  return done;
}

/// Reads up to `pages` more of a group to where it comes in.
void Pager::read_group(ExpectedGroups::Group& group, std::size_t pages) {
  auto* const to = os::pointer<unsigned char>(group.memory);
  const std::size_t end = std::min(group.read + pages, huge_pages);
  while (group.read < end) {
    const auto page = static_cast<PageNumber>(group.first + group.read);
    unsigned char* const at = to + group.read * page_bytes;
    std::size_t run = end - group.read;
    if (far_.mapped()) {
      run = adjacent_slots(page, run);
      const Slot slot = table_[page].slot();
      far_.expect(slot + static_cast<Slot>(run) - 1);
      std::memcpy(at, far_.at(slot), run * page_bytes);
      emulate(run);
    } else {
      read_far(page, run, at);
    }
    group.read += run;
  }
}

/// A stream has brought in so many pages from this one on.
void Pager::came_in_order(PageNumber page, std::size_t count) {
  const std::size_t end = (page + count) / huge_pages * huge_pages;
  if (end <= page || end < huge_pages || !moves_whole()) return;
  to_collapse_[next_to_collapse_++ % to_collapse_.size()] =
      static_cast<PageNumber>(end - huge_pages);
}

/// Makes a huge page of a group that has come in order, in small ones, so that the next time it
/// leaves and comes as one. False if there is none, or it cannot be.
bool Pager::collapse() {
  for (PageNumber& group : to_collapse_)
    if (group != no_page) return collapse(std::exchange(group, no_page));
  return false;
}

bool Pager::collapse(PageNumber first) {
  if (!huge_ || has_forked_ || whole_.has(first)) return false;
  for (PageNumber page = first; page < first + huge_pages; ++page)
    if (table_.state(page) != State::near) return false;
  const os::Place begin = place(first);
  if (unmanaged_.overlaps(begin, begin + huge_bytes) || !budget_.try_charge(huge_pages))
    return false;
  if (uffd_.protects() && uffd_.unprotect(begin, huge_bytes, os::Waking::at_once) == 0)
    for (PageNumber page = first; page < first + huge_pages; ++page)
      table_[page].write_protected = false;
  constexpr int madv_collapse = 25;  // since Linux 6.1, which not all headers know
  memory_.advise(begin, huge_bytes, MADV_HUGEPAGE);
  const bool done = memory_.advise(begin, huge_bytes, madv_collapse) == 0;
  memory_.advise(begin, huge_bytes, MADV_NOHUGEPAGE);
  budget_.release(huge_pages);
  if (!done) return false;
  whole_.add(first);
  control_.add(Count::gathered);
  return true;
}

/// Whether 2 MiB of memory are one page.
bool Pager::is_huge(os::Place at) const {
  std::array<os::PageMap::Run, 1> run;
  const os::Place end = at + huge_bytes;
  os::Place from = at;
  return memory_.find_present(from, end, run) == 1 && run[0].huge && run[0].begin == at &&
         run[0].end == end;
}

}  // namespace nearfar::tier
