// What the program does to ranges of its memory.

#include "tier/pager.h"

namespace nearfar::tier {

using os::page_bytes;

bool Pager::discard(os::Place begin, os::Place end) {
  // The kernel first: a page must not be counted as gone before it is.
  if (os::advise(begin, end - begin, MADV_DONTNEED) == -EINVAL) return false;
  may_leave(begin, end);
  const PageNumber last = number(end);
  for (PageNumber page = table_.next_used(number(begin), last); page < last;
       page = table_.next_used(page + 1, last)) {
    forget(page);
  }
  return true;
}

bool Pager::cover(os::Place begin, os::Place end) {
  return discard(begin, end) && foreign_.add(begin, end);
}

void Pager::uncover(os::Place begin, os::Place end) {
  if (!foreign_.overlaps(begin, end)) return;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  const long mapped = os::map(begin, end - begin, PROT_NONE, flags);
  if (mapped < 0) os::fail("munmap cannot take its memory back", mapped);
  // What was managed of this range is gone with the mapping.
  discard(begin, end);
  os::advise(begin, end - begin, MADV_NOHUGEPAGE);
  os::advise(begin, end - begin, MADV_DONTFORK);
  if (const long error = uffd_.register_missing(begin, end - begin); error != 0)
    os::fail("the memory cannot be watched", error);
  (void)foreign_.remove(begin, end);
}

bool Pager::move(os::Place from, os::Place to, std::size_t length) {
  if (foreign_.overlaps(from, from + length)) return false;
  // Read-ahead for a neighbour's fault may have put zeros there since it was mapped.
  discard(to, to + length);
  const PageNumber first = number(from);
  const PageNumber last = number(from + length);
  for (PageNumber page = table_.next_used(first, last); page < last;
       page = table_.next_used(page + 1, last)) {
    const PageNumber target = number(to) + (page - first);
    use(target);
    Page& old = table_[page];
    Page& moved = table_[target];
    if (old.state == State::near && !move_resident(page, target)) continue;
    moved.set_slot(old.slot());
    moved.borrowed = old.borrowed;
    if (old.state == State::limbo) limbo_.rename(old.position, target);
    moved.position = old.position;
    moved.state = old.state;
    table_.rename(page, target);
    old.set_slot(no_slot);
    old.borrowed = false;
    old.state = State::fresh;
  }
  return true;
}

/// Moves what lies in a page's place to another. False if it lies there no
/// more, as the program gave it back by a system call of its own.
bool Pager::move_resident(PageNumber from, PageNumber to) {
  const os::Moved moved = uffd_.move(place(to), place(from), page_bytes);
  if (moved.error == -ENOENT) {
    forget(from);
    return false;
  }
  if (moved.bytes == 0) {
    // Shared with a child, pinned or protected: a copy, as the kernel moves none of them.
    budget_.charge(1);
    const os::Moved copied = uffd_.copy(place(to), os::pointer(place(from)), page_bytes);
    if (copied.bytes == 0 && copied.error != -EEXIST) os::fail("mremap lost a page", copied.error);
    os::advise(place(from), page_bytes, MADV_DONTNEED);
    budget_.release(1);
  }
  return true;
}

}  // namespace nearfar::tier
