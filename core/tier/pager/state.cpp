#include "tier/pager/state.h"

#include <algorithm>

#include "tier/pager/sizes.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

constexpr std::size_t most_unmanaged = 4096;

}  // namespace

PagerState::PagerState(Region region, PageTable table, Control& control, FarStore& store,
                       Kernel kernel)
    : region(region),
      table(table),
      control(control),
      budget(control, store.slots()),
      store(store),
      kernel(kernel),
      limbo(limbo_pages(control.limit_pages)),
      unmanaged(reserve_extents(most_unmanaged)) {}

Pages PagerState::pages_between(os::Place begin, os::Place end) const {
  const os::Place first = std::max(begin, region.base);
  const os::Place last = std::min(end, region.base + region.length);
  if (first >= last) return {};
  return {number(first), number(last)};
}

std::size_t PagerState::batch() const {
  return std::clamp(limbo.capacity() / 4, smallest_batch, most_at_once);
}

std::uint64_t PagerState::low_watermark() const {
  if (flat != nullptr) return smallest_batch;
  // Where windows of 2 MiB are a 32nd of it, one is free with what the table takes for it.
  const std::uint64_t limit = budget.limit();
  const std::uint64_t part = limit / 32 + (moves_groups() ? limit / 256 : 0);
  return std::max<std::uint64_t>(part, smallest_batch);
}

void PagerState::put_in_limbo(PageNumber first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto page = static_cast<PageNumber>(first + i);
    table[page].position = static_cast<std::uint16_t>(limbo.next_position());
    table[page].state = State::limbo;
    limbo.push(page);
  }
}

bool PagerState::discard_dropped(PageNumber page, long error) {
  if (error == -EBADF) os::fail(closed_descriptor);
  // Or the program moves it, of which more will be told.
  if (error != -ENOENT || uffd().changing()) return false;
  discard_and_uncharge(page);
  return true;
}

void PagerState::release_staged(std::size_t position, std::size_t count) {
  memory().advise(staged(position), count * page_bytes, MADV_DONTNEED);
  for (std::size_t i = 0; i < count; ++i) limbo.remove(position + i);
  budget.release(count);
}

bool PagerState::discard(PageNumber page) {
  Page& entry = table[page];
  const bool in_place = entry.state == State::near;
  if (entry.state == State::limbo) release_staged(entry.position, 1);
  table.remove(page);
  drop_slot(entry);
  entry.state = State::fresh;
  budget.managed(-1);
  return in_place;
}

void PagerState::release_unused_groups(Pages pages, const Windows& windows) {
  constexpr auto group = static_cast<PageNumber>(PageTable::group);
  constexpr std::uint64_t share = 64;  // of near memory, for what is known of such groups
  for (PageNumber page = table.next_in_use(pages.first / group * group, pages.last);
       page < pages.last; page = table.next_in_use(page + group, pages.last)) {
    const PageNumber noted = empty_groups.note(page, budget.limit() / share);
    if (noted != no_page) release_group(noted, windows);
  }
}

/// A group of which no page is used any more, and that is in no window, takes no memory either. A
/// window closes later, and then releases it.
void PagerState::release_group(PageNumber group, const Windows& windows) {
  const auto end = static_cast<PageNumber>(group + PageTable::group);
  if (table.next_in_use(group, end) != group || table.next_used(group, end) != end) return;
  if (windows.hold(group)) return;
  table.give_back(group);
  memory().advise(os::place(&table[group]), PageTable::group * sizeof(Page), MADV_DONTNEED);
  budget.release(1);
}

}  // namespace nearfar::tier
