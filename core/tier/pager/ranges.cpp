#include "tier/pager/ranges.h"

#include <algorithm>

namespace nearfar::tier {

using os::page_bytes;

bool Ranges::cover(os::Place begin, os::Place end) {
  parts_.windows.close(state_.number(begin), state_.number(end));
  if (!state_.add_unmanaged(begin, end)) return false;
  parts_.remap.uncharge(parts_.remap.discard(begin, end));
  state_.uffd().unregister(begin, end - begin);  // else the kernel would tell of the new mapping
  return true;
}

Outcome Ranges::release(os::Place begin, os::Place end) {
  // The other half is for what must not be refused: mappings over ours, and those past libc.
  if (state_.unmanaged.size() >= state_.unmanaged.capacity() / 2) return Outcome::no;
  const PageNumber first = state_.number(begin);
  const PageNumber last = state_.number(end);
  parts_.windows.close(first, last);
  parts_.huge.let_named_stay();
  // Else what has come would leave for what comes, where it is more than near memory has.
  (void)parts_.eviction.keep_near(begin, end);
  parts_.page_in.bring_back(begin, end, 0);
  const PageTable& table = state_.table;
  for (PageNumber page = table.next_used(first, last); page < last;
       page = table.next_used(page + 1, last))
    if (table.state(page) != State::near) return Outcome::later;
  if (!state_.add_unmanaged(begin, end)) return Outcome::no;
  parts_.remap.uncharge(parts_.remap.discard(begin, end));
  state_.uffd().unregister(begin, end - begin);
  state_.memory().advise(begin, end - begin, MADV_DOFORK);
  return Outcome::yes;
}

void Ranges::uncover(os::Place begin, os::Place end) {
  Extents& unmanaged = state_.unmanaged;
  for (std::size_t i = unmanaged.find(begin); i < unmanaged.size() && unmanaged[i].begin < end;
       i = unmanaged.find(begin)) {
    const os::Place from = std::max(begin, unmanaged[i].begin);
    const std::size_t length = std::min(end, unmanaged[i].end) - from;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    const long mapped = os::map(from, length, PROT_NONE, flags);
    if (mapped < 0) os::fail("munmap cannot take its memory back", mapped);
    for (const int advice : {MADV_NOHUGEPAGE, MADV_DONTFORK, MADV_DONTDUMP})
      state_.memory().advise(from, length, advice);
    if (const long error = state_.uffd().register_range(from, length); error != 0)
      os::fail("the memory cannot be watched", error);
    (void)unmanaged.remove(from, from + length);
  }
  state_.has_unmanaged.store(unmanaged.size() != 0);
}

Outcome Ranges::move(os::Place from, os::Place to, std::size_t length, PageNumber& passed) {
  if (state_.unmanaged.overlaps(from, from + length)) return Outcome::no;
  const PageNumber first = state_.number(from);
  const PageNumber last = state_.number(from + length);
  parts_.windows.close(first, last);
  parts_.windows.close(state_.number(to), state_.number(to + length));
  parts_.huge.let_named_stay();
  // Where a page is, none can be moved.
  parts_.zeros.hide(to + std::size_t{passed} * page_bytes, to + length);
  const PageTable& table = state_.table;
  for (PageNumber page = table.next_used(first + passed, last); page < last;
       page = table.next_used(page + 1, last)) {
    passed = page - first;
    const PageNumber target = state_.number(to) + (page - first);
    state_.use(target);
    // Read-ahead for a neighbour's fault may have put zeros there since it was mapped.
    if (table.state(target) != State::fresh && !drop_zeros(target)) return Outcome::later;
    if (move_page(page, target) == Outcome::later) return Outcome::later;
  }
  return Outcome::yes;
}

/// Takes a page of zeros out of its place, by way of the staging memory. False if it cannot be now.
bool Ranges::drop_zeros(PageNumber page) {
  if (state_.table.state(page) == State::near) parts_.eviction.displace(page);
  if (state_.table.state(page) == State::near) return false;
  if (state_.table.state(page) != State::fresh) state_.discard_and_uncharge(page);
  return true;
}

/// Makes another page of one. `no`, and there is nothing left of it, if the program dropped it by a
/// system call of its own.
Outcome Ranges::move_page(PageNumber from, PageNumber to) {
  Page& old = state_.table[from];
  Page& moved = state_.table[to];
  if (old.state == State::near) {
    const Outcome outcome = move_resident(from, to);
    if (outcome != Outcome::yes) return outcome;
  }
  moved.set_slot(old.slot());
  moved.borrowed = old.borrowed;
  moved.written = old.written;
  moved.write_protected = false;
  moved.unchanged = old.unchanged;
  if (old.state == State::limbo) state_.limbo.rename(old.position, to);
  moved.position = old.position;
  moved.state = old.state;
  parts_.incoming.mark_populated(to);
  state_.table.rename(from, to);
  old.set_slot(no_slot);
  old.borrowed = false;
  old.write_protected = false;
  old.unchanged = false;
  old.state = State::fresh;
  return Outcome::yes;
}

/// Moves what lies in a page's place to another.
Outcome Ranges::move_resident(PageNumber from, PageNumber to) {
  const os::Moved moved = state_.uffd().move(state_.place(to), state_.place(from), page_bytes);
  if (moved.bytes != 0) return Outcome::yes;
  if (moved.error == -EAGAIN) return Outcome::later;
  const bool copies = !state_.uffd().moves();  // which does not tell that there is nothing
  if (moved.error == -ENOENT || (copies && parts_.eviction.confirm_gone(state_.place(from)))) {
    state_.discard_and_uncharge(from);
    return Outcome::no;
  }
  return copy_resident(from, to);
}

/// A page that is shared with a child, pinned or protected is copied, as the kernel moves none of
/// them. The program's thread drops what is left in its place next; where all pages are copied,
/// that would be as much again as what is near.
Outcome Ranges::copy_resident(PageNumber from, PageNumber to) {
  const bool copies = !state_.uffd().moves();
  const void* contents = os::pointer(state_.place(from));
  if (copies && state_.memory().read(state_.place(from), far_copies, page_bytes) != 0)
    contents = far_copies;
  const os::Moved copied = state_.uffd().copy(state_.place(to), contents, page_bytes);
  if (copied.error == -EAGAIN) return Outcome::later;
  if (copied.bytes == 0 && copied.error != -EEXIST) os::fail("mremap lost a page", copied.error);
  if (copies) state_.memory().advise(state_.place(from), page_bytes, MADV_DONTNEED);
  return Outcome::yes;
}

}  // namespace nearfar::tier
