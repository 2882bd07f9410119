// First touches that the kernel serves by itself. A program that fills memory from one end to the
// other is given what lies behind the 2 MiB that it begins, 2 MiB and more, ahead of its touches:
// charged, no longer watched, and in huge pages: one fault instead of 512, and fewer misses of the
// TLB later. In small pages a window would not pay: the kernel's own fault takes longer than the
// pager's copy of zeros to 32 pages at once, a page.

#include "tier/pager/pager.h"

namespace nearfar::tier {

using os::page_bytes;

namespace {

/// What a program has used just before a page, for it to be about to use what lies behind.
constexpr PageNumber pages_of_evidence = 64;
/// Windows that were filled, and none of it in huge pages: the kernel has none, or not for this.
constexpr unsigned most_in_vain = 8;

}  // namespace

/// A fresh page was touched: grants what lies behind its group, if the program fills memory in
/// order. The group itself comes as others do, as the touch has left a table for small pages behind
/// there, of which a huge page cannot take the place; unless it was expected.
void Pager::open_window(PageNumber touched) {
  if (!huge_ || touched % huge_pages != 0 || touched < pages_of_evidence) return;
  const std::size_t before = windows_.find(touched - 1, touched);
  std::size_t grown = 0;
  if (before != windows_.size()) {
    grown = windows_[before].pages();
  } else {
    for (PageNumber i = touched - pages_of_evidence; i < touched; ++i)
      if (table_.state(i) == State::fresh) return;
  }
  const bool bare = expected_.find(touched) != nullptr;
  const auto page = static_cast<PageNumber>(bare ? touched : touched + huge_pages);
  if (page >= table_.size()) return;
  std::size_t count = window_pages(grown, budget_.limit(), budget_.free(), low_watermark());
  count = std::min<std::size_t>(count, table_.size() - page);
  const PageNumber used = table_.next_used(page, static_cast<PageNumber>(page + count));
  count = (used - page) / huge_pages * huge_pages;
  const os::Place begin = place(page);
  const os::Place end = begin + count * page_bytes;
  if (count == 0 || unmanaged_.overlaps(begin, end) ||
      windows_.find(page, number(end)) != windows_.size())
    return;
  expect_fresh(number(end));  // who waits may be there as soon as this is granted
  grant({.begin = page, .end = number(end)});
  ExpectedGroups::Group* const expected = expected_.find(touched);
  if (bare && windows_.hold(page) && expected != nullptr) *expected = {};
}

/// A program that fills memory will come to this group next, and is then granted it. Its touch must
/// leave no table for small pages behind, so the kernel may have a huge page there: it makes one
/// that it then gives up, as the memory is watched.
void Pager::expect_fresh(PageNumber first) {
  if (!huge_ || window_pages(0, budget_.limit(), budget_.free(), low_watermark()) == 0) return;
  const auto end = static_cast<PageNumber>(first + huge_pages);
  if (end > table_.size() || table_.next_used(first, end) != end) return;
  if (unmanaged_.overlaps(place(first), place(end)) || windows_.find(first, end) != windows_.size())
    return;
  expect(first, 0);
}

void Pager::grant(Windows::Window window) {
  if (!table_.has_room(window.pages() / huge_pages)) return;
  const std::size_t most_table = window.pages() / huge_pages * table_.most_use();
  const std::size_t charged = window.pages() + most_table;
  const bool modest = window.pages() <= modest_window(budget_.limit());
  if (modest ? !reserve(charged) : !budget_.try_charge(charged)) return;
  if (windows_.full()) close_window(0);
  const os::Place begin = place(window.begin);
  const std::size_t length = window.pages() * page_bytes;
  memory_.advise(begin, length, MADV_HUGEPAGE);
  if (uffd_.unregister(begin, length) != 0) {
    memory_.advise(begin, length, MADV_NOHUGEPAGE);
    budget_.release(charged);
    return;
  }
  std::size_t table_pages = 0;
  for (PageNumber page = window.begin; page < window.end; page += huge_pages)
    table_pages += table_.use(page);
  budget_.release(most_table - table_pages);
  windows_.add(window);
}

/// Watches a window's pages again: those that were touched are resident, the others give their
/// charge back.
void Pager::close_window(std::size_t i) {
  const Windows::Window window = windows_.take(i);
  const os::Place end = place(window.end);
  const std::size_t length = window.pages() * page_bytes;
  if (uffd_.register_range(place(window.begin), length) != 0) {
    // The program has mapped something else there by a system call of its own.
    (void)add_unmanaged(place(window.begin), end);
    budget_.release(window.pages());
    may_be_empty({window.begin, window.end});
    return;
  }
  memory_.advise(place(window.begin), length, MADV_NOHUGEPAGE);
  // Nothing comes into its place from now on but through the pager, so what is found is all.
  std::size_t present = 0;
  std::size_t huge = 0;
  for (os::Place from = place(window.begin); from < end;) {
    std::array<os::PageMap::Run, 32> runs;
    const std::size_t found = memory_.find_present(from, end, runs);
    for (const os::PageMap::Run& run : std::span(runs).first(found)) {
      const std::size_t pages = (run.end - run.begin) / page_bytes;
      present += pages;
      huge += run.huge ? pages : 0;
      for (std::size_t page = 0; page < pages; ++page)
        arrived(static_cast<PageNumber>(number(run.begin) + page));
      for (std::size_t page = 0; run.huge && page < pages; page += huge_pages)
        whole_.add(static_cast<PageNumber>(number(run.begin) + page));
    }
  }
  budget_.release(window.pages() - present);
  control_.add(Count::first_touches, present);
  control_.add(Count::window_touches, present);
  if (present < window.pages()) {
    may_be_empty({window.begin, window.end});
    return;
  }
  in_vain_ = huge == 0 && memory_.tells_huge() ? in_vain_ + 1 : 0;
  if (in_vain_ == most_in_vain) huge_ = false;
}

void Pager::close_windows(PageNumber begin, PageNumber end) {
  for (std::size_t i = windows_.find(begin, end); i < windows_.size();
       i = windows_.find(begin, end))
    close_window(i);
}

void Pager::close_all_windows() {
  while (windows_.size() != 0) close_window(0);
}

/// Takes back what is granted beyond a modest window for what is being filled now; false if that
/// is nothing.
bool Pager::give_windows_back() {
  bool any = false;
  while (windows_.size() > 1 ||
         (windows_.size() == 1 && windows_[0].pages() > modest_window(budget_.limit()))) {
    close_window(0);
    any = true;
  }
  return any;
}

}  // namespace nearfar::tier
