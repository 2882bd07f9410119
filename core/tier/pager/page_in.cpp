#include "tier/pager/page_in.h"

#include "tier/pager/sizes.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

alignas(page_bytes) const unsigned char zeros[longest_run * page_bytes] = {};

}  // namespace

Filled PageIn::fill(const Run& run) {
  PageTable& table = state_.table;
  const std::size_t table_pages = table.most_use(run.first, run.count);
  if (!charge(run, table_pages)) return {};
  std::size_t used = 0;
  for (std::size_t i = 0; i < run.count; ++i)
    used += table.use(static_cast<PageNumber>(run.first + i));
  const Filled filled = copy_in(run);
  for (std::size_t i = 0; i < filled.pages; ++i) {
    const auto came = static_cast<PageNumber>(run.first + i);
    arrivals_.arrive(came, came == run.touched);
    if (run.protect == os::Protect::on) table[came].write_protected = true;
  }
  if (state_.flat != nullptr) state_.flat->end_expectation();
  if (run.protect == os::Protect::on) state_.control.add(Count::protected_ins, filled.pages);
  state_.budget.release(run.count + table_pages - filled.pages - used);
  return filled;
}

Filled PageIn::fill_or_first(const Run& run) {
  const Filled filled = fill(run);
  if (filled.pages != 0 || run.count == 1 || filled.retry) return filled;
  Run first = run;
  first.count = 1;
  return fill(first);
}

/// Charges a run and its part of the page table, beyond the limit if a thread waits and nothing can
/// leave. False, and nothing is charged, if none waits and there is no room.
bool PageIn::charge(const Run& run, std::size_t table_pages) {
  constexpr std::size_t most_groups = 2;  // of a run
  const bool awaited = run.touched != no_page;
  const std::size_t pages = run.count + table_pages;
  if ((!awaited || run.count > 1) && !state_.table.has_room(most_groups)) return false;
  if (!awaited) return state_.budget.try_charge(pages);
  if (!eviction_.reserve(pages, run.waking)) {
    state_.budget.charge(pages);
    state_.control.add(Count::over_budget, run.count);
  }
  return true;
}

Filled PageIn::copy_in(const Run& run) {
  FlatPages* const flat = state_.flat;
  if (flat != nullptr) state_.allocate_in(flat->expect(state_.table.dense(run.first), run.count));
  if (run.from == State::far) return copy_in_far(run);
  const Filled filled = put_fresh(run);
  state_.control.add(Count::first_touches, filled.pages);
  return filled;
}

/// Fills pages with zeros; or has the kernel give a thread pages of its own, which has waited to
/// write to the one of zeros that all share: each as it is written to.
Filled PageIn::put_fresh(const Run& run) const {
  if (!run.there) return put(run.first, zeros, run.count, run.waking, run.protect);
  const long error =
      state_.uffd().unprotect(state_.place(run.first), run.count * page_bytes, run.waking);
  return {.pages = error == 0 ? run.count : 0, .retry = error == -EAGAIN};
}

Filled PageIn::copy_in_far(const Run& run) {
  Filled filled;
  for (bool all = true; all && filled.pages < run.count;) {
    const auto from = static_cast<PageNumber>(run.first + filled.pages);
    const FarStore::Run there = far_.view(from, run.count - filled.pages);
    const Filled copied = put(from, there.contents, there.pages, run.waking, run.protect);
    filled.pages += copied.pages;
    filled.retry = filled.retry || copied.retry;
    all = copied.pages == there.pages;
    if (!all) far_.expect(from, there.pages);
  }
  state_.control.add(Count::copies_in, filled.pages);
  return filled;
}

Filled PageIn::put(PageNumber page, const void* contents, std::size_t count, os::Waking waking,
                   os::Protect protect) const {
  const os::Moved copied =
      state_.uffd().copy(state_.place(page), contents, count * page_bytes, waking, protect);
  if (copied.error == -ENOMEM) os::fail("the system has no memory left for a near page");
  return {copied.bytes / page_bytes, copied.error == -EAGAIN};
}

Filled PageIn::put_zeros(PageNumber page, os::Waking waking) const {
  return put_again(page, zeros, waking);
}

/// Fills a page that is known of, in the tier that it belongs to.
Filled PageIn::put_again(PageNumber page, const void* contents, os::Waking waking) const {
  if (const FlatPages* const flat = state_.flat; flat != nullptr)
    state_.allocate_in(flat->tier(state_.table.dense(page)));
  return put(page, contents, 1, waking);
}

Filled PageIn::take_back(PageNumber page, os::Waking waking) {
  const os::Place staged = state_.staged(state_.table[page].position);
  const os::Moved moved = state_.uffd().move(state_.place(page), staged, page_bytes, waking);
  if (moved.bytes == 0) {
    // The kernel moves only between writable mappings; the program may have protected this one.
    const Filled copied = put_again(page, os::pointer(staged), waking);
    if (copied.pages == 0) return copied;
  }
  if (moved.error != 0) state_.memory().advise(staged, page_bytes, MADV_DONTNEED);
  state_.control.add(Count::second_chances);
  arrivals_.come_back(page);
  return {.pages = 1};
}

void PageIn::bring_back(os::Place begin, os::Place end, std::uint64_t free) {
  const PageTable& table = state_.table;
  const PageNumber last = state_.number(end);
  for (PageNumber page = table.next_used(state_.number(begin), last); page < last;) {
    std::size_t done = 1;
    if (table.state(page) == State::limbo) {
      (void)take_back(page, os::Waking::at_once);
    } else if (table.state(page) == State::far) {
      while (done < longest_run && page + done < last &&
             table.state(static_cast<PageNumber>(page + done)) == State::far)
        ++done;
      if (state_.budget.free() < free) return;
      const Run run{.first = page, .count = done, .from = State::far, .touched = page};
      done = fill_or_first(run).pages;
      if (done == 0) return;
    }
    page = table.next_used(static_cast<PageNumber>(page + done), last);
  }
}

os::Protect PageIn::protection_for(PageNumber page, os::Touch touch) const {
  const Page& entry = state_.table[page];
  const os::Uffd& uffd = state_.uffd();
  // A system call that writes to a protected page would fail where faults are signals.
  const bool can = uffd.moves() && uffd.protects() && state_.faults_as == os::Faults::wait;
  const bool may =
      touch == os::Touch::read && entry.state == State::far && entry.unchanged && entry.stored();
  return can && may && protection_.pays() ? os::Protect::on : os::Protect::off;
}

}  // namespace nearfar::tier
