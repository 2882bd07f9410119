#include "tier/pager/fault_windows.h"

#include <algorithm>
#include <array>
#include <span>

namespace nearfar::tier {
namespace {

using os::page_bytes;

/// Pages just before one that was touched which must be in use, for the program to be filling
/// memory in order.
constexpr PageNumber pages_of_evidence = 64;
/// Windows that were filled, and none of it in huge pages: the kernel has none, or not for this.
constexpr unsigned most_in_vain = 8;

}  // namespace

/// The group of the touched page itself comes as others do, as the touch has left a table for small
/// pages behind there, of which a huge page cannot take the place; unless the group was expected.
Windows::Window FaultWindows::plan(PageNumber touched) const {
  const PageTable& table = state_.table;
  if (!state_.has_huge_pages || touched % huge_pages != 0 || touched < pages_of_evidence) return {};
  const std::size_t before = windows_.find(touched - 1, touched);
  std::size_t grown = 0;
  if (before != windows_.size()) {
    grown = windows_[before].pages();
  } else {
    for (PageNumber i = touched - pages_of_evidence; i < touched; ++i)
      if (table.state(i) == State::fresh) return {};
  }
  const auto page =
      static_cast<PageNumber>(incoming_.is_expected(touched) ? touched : touched + huge_pages);
  if (page >= table.size()) return {};
  std::size_t count =
      window_pages(grown, state_.budget.limit(), state_.budget.free(), state_.low_watermark());
  count = std::min<std::size_t>(count, table.size() - page);
  const PageNumber used = table.next_used(page, static_cast<PageNumber>(page + count));
  count = (first_shown(page, used) - page) / huge_pages * huge_pages;
  const auto end = static_cast<PageNumber>(page + count);
  if (count == 0 || state_.unmanaged.overlaps(state_.place(page), state_.place(end)) ||
      windows_.find(page, end) != windows_.size())
    return {};
  return {.begin = page, .end = end};
}

/// The first of these fresh pages that is shown as zeros, the last if none is: it has a table for
/// small pages, too.
PageNumber FaultWindows::first_shown(PageNumber first, PageNumber last) const {
  if (!state_.shows_zeros || first == last) return last;
  std::array<os::PageMap::Run, 1> runs;
  os::Place from = state_.place(first);
  const bool found = state_.memory().find_zeros(from, state_.place(last), runs) != 0;
  return found ? state_.number(runs[0].begin) : last;
}

std::uint64_t FaultWindows::charge_of(const Windows::Window& window) const {
  const std::size_t groups = window.pages() / huge_pages;
  return state_.table.has_room(groups) ? window.pages() + groups * state_.table.most_use() : 0;
}

void FaultWindows::expect_fresh(PageNumber first) {
  if (!state_.has_huge_pages ||
      window_pages(0, state_.budget.limit(), state_.budget.free(), state_.low_watermark()) == 0)
    return;
  const auto end = static_cast<PageNumber>(first + huge_pages);
  if (end > state_.table.size() || state_.table.next_used(first, end) != end) return;
  if (state_.unmanaged.overlaps(state_.place(first), state_.place(end)) ||
      windows_.find(first, end) != windows_.size())
    return;
  incoming_.expect(first, 0);
}

void FaultWindows::grant(const Windows::Window& window, PageNumber touched) {
  if (windows_.full()) close_at(0);
  const std::uint64_t charged = charge_of(window);
  const os::Place begin = state_.place(window.begin);
  const std::size_t length = window.pages() * page_bytes;
  state_.memory().advise(begin, length, MADV_HUGEPAGE);
  if (state_.uffd().unregister(begin, length) != 0) {
    state_.memory().advise(begin, length, MADV_NOHUGEPAGE);
    state_.budget.release(charged);
    return;
  }
  std::size_t table_pages = 0;
  for (PageNumber page = window.begin; page < window.end; page += huge_pages)
    table_pages += state_.table.use(page);
  state_.budget.release(charged - window.pages() - table_pages);
  windows_.add(window);
  if (window.begin == touched) incoming_.leave_to_window(touched);
}

/// Registers a window's pages again: those that were touched are resident, the others give their
/// charge back.
void FaultWindows::close_at(std::size_t i) {
  const Windows::Window window = windows_.take(i);
  const os::Place begin = state_.place(window.begin);
  const std::size_t length = window.pages() * page_bytes;
  if (state_.uffd().register_range(begin, length) != 0) {
    // The program has mapped something else there by a system call of its own.
    (void)state_.add_unmanaged(begin, begin + length);
    state_.budget.release(window.pages());
    state_.release_unused_groups({window.begin, window.end}, windows_);
    return;
  }
  state_.memory().advise(begin, length, MADV_NOHUGEPAGE);
  // Nothing comes into its place from now on but through the pager, so what is found is all.
  const Found found = find_arrived(window);
  state_.budget.release(window.pages() - found.pages);
  state_.control.add(Count::first_touches, found.pages);
  state_.control.add(Count::window_touches, found.pages);
  if (found.pages < window.pages()) {
    state_.release_unused_groups({window.begin, window.end}, windows_);
    return;
  }
  in_vain_ = found.huge == 0 && state_.memory().tells_huge() ? in_vain_ + 1 : 0;
  if (in_vain_ == most_in_vain) state_.has_huge_pages = false;
}

FaultWindows::Found FaultWindows::find_arrived(const Windows::Window& window) {
  Found all;
  const os::Place end = state_.place(window.end);
  for (os::Place from = state_.place(window.begin); from < end;) {
    std::array<os::PageMap::Run, 32> runs;
    const std::size_t count = state_.memory().find_present(from, end, runs);
    for (const os::PageMap::Run& run : std::span(runs).first(count)) {
      const PageNumber first = state_.number(run.begin);
      const std::size_t pages = (run.end - run.begin) / page_bytes;
      all.pages += pages;
      all.huge += run.huge ? pages : 0;
      for (std::size_t page = 0; page < pages; ++page)
        arrivals_.arrive(static_cast<PageNumber>(first + page));
      for (std::size_t page = 0; run.huge && page < pages; page += huge_pages)
        huge_.mark_whole(static_cast<PageNumber>(first + page));
    }
  }
  return all;
}

void FaultWindows::close(PageNumber begin, PageNumber end) {
  for (std::size_t i = windows_.find(begin, end); i < windows_.size();
       i = windows_.find(begin, end))
    close_at(i);
}

void FaultWindows::close_all() {
  while (windows_.size() != 0) close_at(0);
}

bool FaultWindows::close_surplus() {
  bool any = false;
  while (windows_.size() > 1 || (windows_.size() == 1 && !is_modest(windows_[0]))) {
    close_at(0);
    any = true;
  }
  return any;
}

}  // namespace nearfar::tier
