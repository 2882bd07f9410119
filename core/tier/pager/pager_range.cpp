// What the program does to ranges of its memory.

#include <algorithm>

#include "tier/pager/pager.h"

namespace nearfar::tier {

using os::page_bytes;

/// The program has given back what was there, and maps something in its place next.
bool Pager::cover(os::Place begin, os::Place end) {
  close_windows(number(begin), number(end));
  if (!add_unmanaged(begin, end)) return false;
  uncharge(discard(begin, end));
  uffd_.unregister(begin, end - begin);  // else the kernel would tell of the new mapping
  return true;
}

/// Notes that something else is mapped there. False if there are too many such places.
bool Pager::add_unmanaged(os::Place begin, os::Place end) {
  has_unmanaged_.store(true);
  return unmanaged_.add(begin, end);
}

void Pager::uncover(os::Place begin, os::Place end) {
  for (std::size_t i = unmanaged_.find(begin); i < unmanaged_.size() && unmanaged_[i].begin < end;
       i = unmanaged_.find(begin)) {
    const os::Place from = std::max(begin, unmanaged_[i].begin);
    const std::size_t length = std::min(end, unmanaged_[i].end) - from;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    const long mapped = os::map(from, length, PROT_NONE, flags);
    if (mapped < 0) os::fail("munmap cannot take its memory back", mapped);
    memory_.advise(from, length, MADV_NOHUGEPAGE);
    memory_.advise(from, length, MADV_DONTFORK);
    memory_.advise(from, length, MADV_DONTDUMP);
    if (const long error = uffd_.register_range(from, length); error != 0)
      os::fail("the memory cannot be watched", error);
    (void)unmanaged_.remove(from, from + length);
  }
  has_unmanaged_.store(unmanaged_.size() != 0);
}

Outcome Pager::move(os::Place from, os::Place to, std::size_t length, PageNumber& passed) {
  if (unmanaged_.overlaps(from, from + length)) return Outcome::no;
  const PageNumber first = number(from);
  const PageNumber last = number(from + length);
  close_windows(first, last);
  close_windows(number(to), number(to + length));
  let_groups_stay();
  for (PageNumber page = table_.next_used(first + passed, last); page < last;
       page = table_.next_used(page + 1, last)) {
    passed = page - first;
    const PageNumber target = number(to) + (page - first);
    use(target);
    // Read-ahead for a neighbour's fault may have put zeros there since it was mapped.
    if (table_.state(target) != State::fresh && !drop_zeros(target)) return Outcome::later;
    if (move_page(page, target) == Outcome::later) return Outcome::later;
  }
  return Outcome::yes;
}

/// Takes a page of zeros out of its place, by way of the staging memory. False if it cannot be now.
bool Pager::drop_zeros(PageNumber page) {
  if (table_.state(page) == State::near) {
    if (limbo_.full()) (void)drain(batch());
    table_.remove(page);  // the policy, which has not named it, forgets it
    control_.add(Count::evictions, displace_run(page, 1));
  }
  if (table_.state(page) == State::near) return false;
  if (table_.state(page) != State::fresh) forget(page);
  return true;
}

/// Makes another page of one. `no`, and there is nothing left of it, if the program gave it back by
/// a system call of its own.
Outcome Pager::move_page(PageNumber from, PageNumber to) {
  Page& old = table_[from];
  Page& moved = table_[to];
  if (old.state == State::near) {
    const Outcome done = move_resident(from, to);
    if (done != Outcome::yes) return done;
  }
  moved.set_slot(old.slot());
  moved.borrowed = old.borrowed;
  moved.written = old.written;
  moved.write_protected = false;
  moved.unchanged = old.unchanged;
  if (old.state == State::limbo) limbo_.rename(old.position, to);
  moved.position = old.position;
  moved.state = old.state;
  mark_populated(to);
  table_.rename(from, to);
  old.set_slot(no_slot);
  old.borrowed = false;
  old.write_protected = false;
  old.unchanged = false;
  old.state = State::fresh;
  return Outcome::yes;
}

/// Moves what lies in a page's place to another.
Outcome Pager::move_resident(PageNumber from, PageNumber to) {
  const os::Moved moved = uffd_.move(place(to), place(from), page_bytes);
  if (moved.bytes != 0) return Outcome::yes;
  if (moved.error == -EAGAIN) return Outcome::later;
  if (moved.error == -ENOENT) {
    forget(from);
    return Outcome::no;
  }
  // Shared with a child, pinned or protected: a copy, as the kernel moves none of them. What is
  // left in its place the program's thread gives back next. Where all are copied, that would be as
  // much again as what is near.
  const void* contents = os::pointer(place(from));
  if (!uffd_.moves()) {  // which would have told that there is nothing
    if (is_nowhere(place(from))) {
      forget(from);
      return Outcome::no;
    }
    if (memory_.read(place(from), far_copies, page_bytes) != 0) contents = far_copies;
  }
  const os::Moved copied = uffd_.copy(place(to), contents, page_bytes);
  if (copied.error == -EAGAIN) return Outcome::later;
  if (copied.bytes == 0 && copied.error != -EEXIST) os::fail("mremap lost a page", copied.error);
  if (!uffd_.moves()) memory_.advise(place(from), page_bytes, MADV_DONTNEED);
  return Outcome::yes;
}

}  // namespace nearfar::tier
