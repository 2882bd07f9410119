// What the program has done to its memory by system calls of its own, as the kernel tells. What is
// not near exists here only, so it is forgotten where its mapping's contents are gone, and follows
// where a mapping has moved. No call here waits, or is one that the kernel would tell of.

#include <algorithm>

#include "tier/pager/pager.h"

namespace nearfar::tier {

using os::page_bytes;

namespace {

alignas(page_bytes) constexpr unsigned char a_page_of_zeros[page_bytes] = {};

}  // namespace

/// The pages of the region between two addresses that may be anywhere.
Pager::Pages Pager::inside(os::Place begin, os::Place end) const {
  const os::Place first = std::max(begin, region_.base);
  const os::Place last = std::min(end, region_.base + region_.length);
  if (first >= last) return {};
  return {number(first), number(last)};
}

/// madvise gives these pages back. Those that are near may still be there for a moment, or longer
/// (MADV_FREE). They must not be taken into limbo: what is there now may not be found again. Which
/// of them stay is not told, so they are not managed until they are touched when they are gone.
void Pager::on_removed(os::Place begin, os::Place end) {
  discard_remapped(begin, end);
  uncharge(discard(begin, end));
}

/// In a forked child: its parent has given these pages back, though perhaps not yet when the child
/// was made.
void Pager::on_removed_in_parent(os::Place begin, os::Place end) {
  uncharge(discard(begin, end));
  const Pages pages = inside(begin, end);
  if (pages.first == pages.last) return;
  const os::Place last = place(pages.last);
  for (auto own = unmanaged_.gap(place(pages.first), last); own.begin < last;
       own = unmanaged_.gap(own.end, last))
    memory_.advise(own.begin, own.end - own.begin, MADV_DONTNEED);
}

/// The library gives these pages back: how many of them are near, and stay charged until they are
/// `gone`.
std::uint64_t Pager::discard(os::Place begin, os::Place end) {
  release_near(begin, end);
  const Pages pages = inside(begin, end);
  std::uint64_t near = 0;
  for (PageNumber page = table_.next_used(pages.first, pages.last); page < pages.last;
       page = table_.next_used(page + 1, pages.last)) {
    near += forget_contents(page) ? 1 : 0;
  }
  may_be_empty(pages);
  return near;
}

/// Pages of these groups are used no more.
void Pager::may_be_empty(Pages pages) {
  constexpr auto group = static_cast<PageNumber>(PageTable::group);
  constexpr std::uint64_t share = 64;  // of near memory, for what is known of such groups
  for (PageNumber page = table_.next_in_use(pages.first / group * group, pages.last);
       page < pages.last; page = table_.next_in_use(page + group, pages.last)) {
    const PageNumber noted = empty_.note(page, limit_ / share);
    if (noted != no_page) give_back(noted);
  }
}

/// A group of which no page is used any more, and that is in no window, takes no memory either.
void Pager::give_back(PageNumber group) {
  const auto end = static_cast<PageNumber>(group + PageTable::group);
  if (table_.next_in_use(group, end) != group || table_.next_used(group, end) != end) return;
  if (windows_.hold(group)) return;  // which closes later
  table_.give_back(group);
  memory_.advise(os::place(&table_[group]), PageTable::group * sizeof(Page), MADV_DONTNEED);
  budget_.release(1);
}

/// Nothing is mapped there any more, or something else.
void Pager::on_unmapped(os::Place begin, os::Place end) {
  release_near(begin, end);
  PendingRemaps::Remap part;
  while (pending_remaps_.cut(begin, end, part)) discard_remap(part);
  const Pages pages = inside(begin, end);
  if (pages.first == pages.last) return;
  // What has moved away from here is forgotten when it has arrived.
  for (PageNumber page = table_.next_used(pages.first, pages.last); page < pages.last;
       page = table_.next_used(page + 1, pages.last)) {
    if (!pending_remaps_.hold(page)) forget(page);
  }
  may_be_empty(pages);
  if (!add_unmanaged(place(pages.first), place(pages.last)))
    os::fail("the program has unmapped too many parts of its memory past libc");
}

/// A mapping has moved, and what was near with it. What was not follows, and then the mapping is
/// the program's own matter: its addresses are the kernel's choice, not those of the region.
void Pager::on_moved(os::Place begin, os::Place end, os::Place to) {
  // Threads that serve their own faults have been seen to find zeros while contents follow.
  if (faults_as_ == os::Faults::signal)
    os::fail("the program has moved memory past libc, which --sigbus does not follow");
  release_near(begin, end);
  PendingRemaps::Remap part;
  while (pending_remaps_.cut(begin, end, part)) {
    const os::Place arrived = to + (part.begin - begin);
    track({.begin = arrived, .end = arrived + (part.end - part.begin), .first = part.first});
  }
  const Pages pages = inside(begin, end);
  if (pages.first == pages.last || unmanaged_.contains(place(pages.first), place(pages.last)))
    return;
  for (PageNumber page = table_.next_used(pages.first, pages.last); page < pages.last;
       page = table_.next_used(page + 1, pages.last)) {
    if (table_.state(page) == State::near) forget(page);
  }
  const os::Place arrived = to + (place(pages.first) - begin);
  track({.begin = arrived,
         .end = arrived + std::size_t{pages.last - pages.first} * page_bytes,
         .first = pages.first});
}

void Pager::track(const PendingRemaps::Remap& remap) {
  if (!pending_remaps_.add(remap)) os::fail("too many mappings that were moved past libc");
}

void Pager::discard_remap(const PendingRemaps::Remap& remap) {
  const PageNumber last = remap.last();
  for (PageNumber page = table_.next_used(remap.first, last); page < last;
       page = table_.next_used(page + 1, last))
    forget(page);
}

/// Mappings that have moved stay where they are, but without contents.
void Pager::discard_remapped(os::Place begin, os::Place end) {
  std::array<PendingRemaps::Remap, PendingRemaps::most + 1> dropped;
  std::size_t count = 0;
  while (pending_remaps_.cut(begin, end, dropped[count])) discard_remap(dropped[count++]);
  while (count > 0) track(dropped[--count]);
}

bool Pager::finish() {
  for (; !pending_remaps_.empty(); pending_remaps_.pop_back()) {
    const PendingRemaps::Remap& remap = pending_remaps_.back();
    const PageNumber last = remap.last();
    for (PageNumber page = table_.next_used(remap.first, last); page < last;
         page = table_.next_used(page + 1, last)) {
      if (!fill_remapped(page, remap.begin + std::size_t{page - remap.first} * page_bytes))
        return true;
    }
    uffd_.unregister(remap.begin, remap.end - remap.begin);
    memory_.advise(remap.begin, remap.end - remap.begin, MADV_DOFORK);
    (void)arrived_.add(remap.begin, remap.end);
  }
  return false;
}

/// A page that was touched where the program has put a mapping, or has let one grow, past libc: it
/// is the kernel's matter.
void Pager::let_go(os::Place at) {
  uffd_.unregister(at, page_bytes);
  memory_.advise(at, page_bytes, MADV_DOFORK);
}

/// Whether a fault where memory is not managed is in a mapping that has moved, or in what one grew
/// by.
bool Pager::has_elsewhere(os::Place at) const {
  const os::Place page = at / page_bytes * page_bytes;
  if (arrived_.contains(page, page + page_bytes)) return true;
  const os::Moved filled = uffd_.copy(page, a_page_of_zeros, page_bytes);
  return filled.bytes != 0 || filled.error == -EEXIST || filled.error == -EAGAIN;
}

/// Fills a page of a mapping that has moved, whose contents are not near. False while it cannot be.
bool Pager::fill_remapped(PageNumber page, os::Place to) {
  const void* contents = far_copies;
  if (table_.state(page) == State::limbo) {
    contents = os::pointer(staged(table_[page].position));
  } else {
    control_.add(Count::copies_in);
    read_far(page, 1, far_copies);
  }
  const os::Moved copied = uffd_.copy(to, contents, page_bytes, os::Waking::at_once);
  if (copied.error == -EAGAIN) return false;
  if (copied.error == -ENOMEM) os::fail("the system has no memory left for a near page");
  forget(page);
  return true;
}

}  // namespace nearfar::tier
