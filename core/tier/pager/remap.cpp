#include "tier/pager/remap.h"

#include <array>

namespace nearfar::tier {
namespace {

using os::page_bytes;

constexpr std::size_t most_finished = 4096;

}  // namespace

Remap::Remap(PagerState& state, FarPages& far, Eviction& eviction, FaultWindows& windows)
    : state_(state),
      far_(far),
      eviction_(eviction),
      windows_(windows),
      finished_(reserve_extents(most_finished)) {}

void Remap::on_removed(os::Place begin, os::Place end) {
  discard_remapped(begin, end);
  uncharge(discard(begin, end));
}

std::uint64_t Remap::discard(os::Place begin, os::Place end) {
  eviction_.release_near(begin, end);
  const PageTable& table = state_.table;
  const Pages pages = state_.pages_between(begin, end);
  std::uint64_t near = 0;
  for (PageNumber page = table.next_used(pages.first, pages.last); page < pages.last;
       page = table.next_used(page + 1, pages.last))
    near += state_.discard(page) ? 1 : 0;
  state_.release_unused_groups(pages, windows_.open());
  return near;
}

bool Remap::drop(os::Place begin, os::Place end) {
  // The kernel first: a page must not be counted as gone before it is.
  if (state_.memory().advise(begin, end - begin, MADV_DONTNEED) == -EINVAL) return false;
  uncharge(discard(begin, end));
  return true;
}

void Remap::on_unmapped(os::Place begin, os::Place end) {
  eviction_.release_near(begin, end);
  PendingRemaps::Remap part;
  while (pending_.cut(begin, end, part)) discard_remap(part);
  const PageTable& table = state_.table;
  const Pages pages = state_.pages_between(begin, end);
  if (pages.empty()) return;
  // What has moved away from here is discarded when it has been brought along.
  for (PageNumber page = table.next_used(pages.first, pages.last); page < pages.last;
       page = table.next_used(page + 1, pages.last)) {
    if (!pending_.hold(page)) state_.discard_and_uncharge(page);
  }
  state_.release_unused_groups(pages, windows_.open());
  if (!state_.add_unmanaged(state_.place(pages.first), state_.place(pages.last)))
    os::fail("the program has unmapped too many parts of its memory past libc");
}

void Remap::on_moved(os::Place begin, os::Place end, os::Place to) {
  // Threads that serve their own faults have been seen to find zeros while contents follow.
  if (state_.faults_as == os::Faults::signal)
    os::fail("the program has moved memory past libc, which --sigbus does not follow");
  eviction_.release_near(begin, end);
  PendingRemaps::Remap part;
  while (pending_.cut(begin, end, part)) {
    const os::Place arrived = to + (part.begin - begin);
    track({.begin = arrived, .end = arrived + (part.end - part.begin), .first = part.first});
  }
  const PageTable& table = state_.table;
  const Pages pages = state_.pages_between(begin, end);
  if (pages.empty() ||
      state_.unmanaged.contains(state_.place(pages.first), state_.place(pages.last)))
    return;
  for (PageNumber page = table.next_used(pages.first, pages.last); page < pages.last;
       page = table.next_used(page + 1, pages.last)) {
    if (table.state(page) == State::near) state_.discard_and_uncharge(page);
  }
  const os::Place arrived = to + (state_.place(pages.first) - begin);
  track({.begin = arrived,
         .end = arrived + std::size_t{pages.last - pages.first} * page_bytes,
         .first = pages.first});
}

void Remap::track(const PendingRemaps::Remap& remap) {
  if (!pending_.add(remap)) os::fail("too many mappings that were moved past libc");
}

void Remap::discard_remap(const PendingRemaps::Remap& remap) {
  const PageTable& table = state_.table;
  const PageNumber last = remap.last();
  for (PageNumber page = table.next_used(remap.first, last); page < last;
       page = table.next_used(page + 1, last))
    state_.discard_and_uncharge(page);
}

/// Mappings that have moved stay where they are, but without contents.
void Remap::discard_remapped(os::Place begin, os::Place end) {
  std::array<PendingRemaps::Remap, PendingRemaps::most + 1> discarded;
  std::size_t count = 0;
  while (pending_.cut(begin, end, discarded[count])) discard_remap(discarded[count++]);
  while (count > 0) track(discarded[--count]);
}

bool Remap::finish() {
  const PageTable& table = state_.table;
  for (; !pending_.empty(); pending_.pop_back()) {
    const PendingRemaps::Remap& remap = pending_.back();
    const PageNumber last = remap.last();
    for (PageNumber page = table.next_used(remap.first, last); page < last;
         page = table.next_used(page + 1, last)) {
      if (!fill(page, remap.begin + std::size_t{page - remap.first} * page_bytes)) return true;
    }
    state_.uffd().unregister(remap.begin, remap.end - remap.begin);
    state_.memory().advise(remap.begin, remap.end - remap.begin, MADV_DOFORK);
    (void)finished_.add(remap.begin, remap.end);
  }
  return false;
}

/// Fills a page of a mapping that has moved, whose contents are not near. False while it cannot be.
bool Remap::fill(PageNumber page, os::Place to) {
  const void* contents = far_copies;
  if (state_.table.state(page) == State::limbo) {
    contents = os::pointer(state_.staged(state_.table[page].position));
  } else {
    state_.control.add(Count::copies_in);
    far_.read(page, 1, far_copies);
  }
  const os::Moved copied = state_.uffd().copy(to, contents, page_bytes, os::Waking::at_once);
  if (copied.error == -EAGAIN) return false;
  if (copied.error == -ENOMEM) os::fail("the system has no memory left for a near page");
  state_.discard_and_uncharge(page);
  return true;
}

void Remap::leave_to_kernel(os::Place at) {
  state_.uffd().unregister(at, page_bytes);
  state_.memory().advise(at, page_bytes, MADV_DOFORK);
}

bool Remap::claim(os::Place at) {
  const os::Place page = at / page_bytes * page_bytes;
  return state_.is_managed(page) || finished_.contains(page, page + page_bytes) ||
         fill_elsewhere(page);
}

/// Fills a page with zeros that is not managed but registered, as only what has moved, or what has
/// grown, can be; whether it is.
bool Remap::fill_elsewhere(os::Place page) const {
  alignas(page_bytes) static constexpr unsigned char zeros[page_bytes] = {};
  const os::Moved filled = state_.uffd().copy(page, zeros, page_bytes);
  return filled.bytes != 0 || filled.error == -EEXIST || filled.error == -EAGAIN;
}

}  // namespace nearfar::tier
