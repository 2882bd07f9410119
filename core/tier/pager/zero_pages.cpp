#include "tier/pager/zero_pages.h"

#include <array>
#include <span>

namespace nearfar::tier {
namespace {

using os::page_bytes;

/// Calls with each run of pages of zeros between two addresses.
template <typename Call>
void for_each_shown(const os::Memory& memory, os::Place begin, os::Place end, const Call& call) {
  for (os::Place from = begin; from < end;) {
    std::array<os::PageMap::Run, 16> runs;
    const std::size_t count = memory.find_zeros(from, end, runs);
    for (const os::PageMap::Run& run : std::span(runs).first(count)) call(run);
  }
}

}  // namespace

/// The kernel protects pages, moves them to limbo if they must leave later, and tells which are
/// shown. With two tiers that are addressed directly, a page's tier would be the kernel's choice.
bool ZeroPages::pays() {
  const os::Uffd& uffd = state_.uffd();
  const bool can = uffd.moves() && uffd.protects() && state_.flat == nullptr &&
                   state_.faults_as == os::Faults::wait && state_.memory().tells_huge();
  if (!can || forbidden_) return false;
  return 2 * broken_ <= shown_ + some || ++reads_ % tried == 0;
}

bool ZeroPages::is_written(const PagerState& state, const Fault& fault) {
  return state.shows_zeros && os::writes(fault.touch) &&
         state.table.state(fault.page) == State::fresh &&
         state.memory().is_present(state.place(fault.page));
}

std::size_t ZeroPages::shown(Pages pages) const {
  std::array<os::PageMap::Run, longest_run> runs;
  const os::Place begin = state_.place(pages.first);
  os::Place from = begin;
  const std::size_t count = state_.memory().find_zeros(from, state_.place(pages.last), runs);
  os::Place end = begin;
  for (std::size_t i = 0; i < count && runs[i].begin == end; ++i) end = runs[i].end;
  return (end - begin) / page_bytes;
}

Filled ZeroPages::show(Pages pages, PageNumber touched, os::Waking waking) {
  if (!finish()) return {.retry = true};
  state_.shows_zeros = true;
  const os::Place at = state_.place(pages.first);
  const std::size_t length = std::size_t{pages.last - pages.first} * page_bytes;
  const os::Moved shown = state_.uffd().show_zeros(at, length, os::Waking::later);
  if (shown.error == -EAGAIN && shown.bytes == 0) return {.retry = true};
  if (shown.error == -EOPNOTSUPP) forbid();
  const std::size_t count = shown.bytes / page_bytes;
  if (count == 0) return {};
  incoming_.mark_populated(pages.first);
  for (std::size_t i = 0; i < count; ++i) learn(shown_);
  state_.control.add(Count::zero_reads, count);
  unprotected_ = {pages.first, static_cast<PageNumber>(pages.first + count)};
  if (!protect_shown()) return {.retry = true};
  if (waking == os::Waking::at_once) state_.uffd().wake(state_.place(touched), page_bytes);
  return {.pages = count};
}

/// False while messages are to be read first.
bool ZeroPages::protect_shown() {
  const os::Place at = state_.place(unprotected_.first);
  const std::size_t length = std::size_t{unprotected_.last - unprotected_.first} * page_bytes;
  long error = state_.uffd().protect(at, length);
  // Part of it may be another mapping by now, where the kernel stops.
  for (PageNumber page = unprotected_.first;
       error != 0 && error != -EAGAIN && page < unprotected_.last; ++page) {
    if (state_.uffd().protect(state_.place(page), page_bytes) == -EAGAIN) error = -EAGAIN;
  }
  if (error == -EAGAIN) return false;
  find_written();
  unprotected_ = {};
  return true;
}

void ZeroPages::find_written() {
  PageNumber next = unprotected_.first;
  const auto adopt = [&](PageNumber end) {
    for (; next < end; ++next) {
      if (state_.table.state(next) != State::fresh ||
          !state_.memory().is_present(state_.place(next)))
        continue;
      if (!eviction_.reserve(1)) {
        state_.budget.charge(1);
        state_.control.add(Count::over_budget);
      }
      state_.use(next);  // only now: eviction gives groups back of which no page is used
      arrivals_.arrive(next, false);
    }
  };
  const os::Place end = state_.place(unprotected_.last);
  for_each_shown(state_.memory(), state_.place(next), end, [&](const os::PageMap::Run& run) {
    adopt(state_.number(run.begin));
    next = state_.number(run.end);
  });
  adopt(unprotected_.last);
}

void ZeroPages::hide(os::Place begin, os::Place end) const {
  if (!state_.shows_zeros) return;
  for_each_shown(state_.memory(), begin, end, [this](const os::PageMap::Run& run) {
    const std::size_t length = run.end - run.begin;
    // The kernel would tell the pager itself of what it drops from registered memory, and wait.
    if (const long error = state_.uffd().unregister(run.begin, length); error != 0)
      os::fail("pages of zeros cannot be taken away", error);
    state_.memory().advise(run.begin, length, MADV_DONTNEED);
    if (const long error = state_.uffd().register_range(run.begin, length); error != 0)
      os::fail("the memory cannot be watched", error);
  });
}

void ZeroPages::hide_all_in_child(const PagerState& state) {
  if (!state.shows_zeros) return;
  const os::Place last = state.region.base + state.region.length;
  for (auto own = state.unmanaged.gap(state.region.base, last); own.begin < last;
       own = state.unmanaged.gap(own.end, last)) {
    for_each_shown(state.memory(), own.begin, own.end, [&](const os::PageMap::Run& run) {
      state.memory().advise(run.begin, run.end - run.begin, MADV_DONTNEED);
    });
  }
}

void ZeroPages::learn(std::uint32_t& which) {
  ++which;
  if (shown_ + broken_ < remembered) return;
  shown_ /= 2;
  broken_ /= 2;
}

}  // namespace nearfar::tier
