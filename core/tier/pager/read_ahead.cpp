#include "tier/pager/read_ahead.h"

#include <algorithm>

#include "tier/pager/sizes.h"

namespace nearfar::tier {

ReadAhead::ReadAhead(PagerState& state, Parts parts)
    : state_(state), parts_(parts), streams_(stream_pages(state.control.limit_pages)) {}

void ReadAhead::restart() { streams_ = Streams(stream_pages(state_.budget.limit())); }

Filled ReadAhead::bring_in(const Fault& fault) {
  const Streams::Run run = wanted(fault.page);
  if (run.down) return bring_in_down(fault, run);
  const bool runs_on = state_.table.state(fault.page) == State::far && run.pace >= longest_run;
  if (runs_on && parts_.incoming.is_expected(fault.page)) {
    const Filled filled = bring_in_group(fault.page, fault.waking);
    if (filled.pages > 0) count(run, fault.page, {.done = filled.pages, .pace = run.pace});
    if (filled.pages > 0 || filled.retry) return filled;
  }
  return bring_in_up(fault, run);
}

Filled ReadAhead::show_zeros(const Fault& fault) {
  const PageNumber page = fault.page;
  const Streams::Run run = wanted(page);
  const std::size_t most = run.down ? 1 : std::min(run.pages, longest_run);
  const std::size_t pages = length(page, most, State::fresh, false);
  const auto show = [&](std::size_t count) {
    const Pages shown{page, static_cast<PageNumber>(page + count)};
    return parts_.zeros.show(shown, page, fault.waking);
  };
  Filled filled = show(pages);
  if (filled.pages == 0 && pages > 1 && !filled.retry)
    filled = show(1);  // the run left the mapping
  if (filled.pages != 0) count(run, page, {.done = filled.pages, .pace = filled.pages});
  return filled;
}

Filled ReadAhead::replace_zeros(const Fault& fault) {
  const PageNumber page = fault.page;
  const Streams::Run run = wanted(page);
  const std::size_t most = run.down ? 1 : std::min(run.pages, longest_run);
  std::size_t pages = length(page, most, State::fresh, false);
  if (pages > 1) pages = parts_.zeros.shown({page, static_cast<PageNumber>(page + pages)});
  const Filled filled = parts_.page_in.fill_or_first({.first = page,
                                                      .count = std::max<std::size_t>(pages, 1),
                                                      .touched = page,
                                                      .waking = fault.waking,
                                                      .there = true});
  if (filled.pages == 0) return filled;
  parts_.zeros.broken(filled.pages);
  count(run, page, {.done = filled.pages, .pace = filled.pages});
  return filled;
}

/// Brings in a page with those behind it.
Filled ReadAhead::bring_in_up(const Fault& fault, const Streams::Run& run) {
  const PageNumber page = fault.page;
  const State from = state_.table.state(page);
  const bool runs_on = from == State::far && run.pace >= longest_run;
  // A thread that gets a signal for its fault has no other that brings in pages behind it.
  const bool follows = from == State::far && state_.faults_as != os::Faults::signal;
  const std::size_t at_once = follows ? run.at_once : std::min(run.pages, longest_run);
  const std::size_t wanted = length(page, at_once, from, runs_on);
  // Before the thread is woken that waits: it may be there at once.
  if (runs_on) parts_.incoming.expect_next(static_cast<PageNumber>(page + wanted), 0);
  if (from == State::fresh && run.pages >= longest_run)
    parts_.windows.expect_fresh(static_cast<PageNumber>((page / huge_pages + 1) * huge_pages));
  PageIn::Run filling{
      .first = page, .count = wanted, .from = from, .touched = page, .waking = fault.waking};
  if (wanted == 1) filling.protect = parts_.page_in.protection_for(page, fault.touch);
  const Filled filled = parts_.page_in.fill_or_first(filling);
  const std::size_t done = filled.pages;
  if (done == 0) return filled;
  if (runs_on) parts_.huge.came_in_order(page, done);
  const auto next = static_cast<PageNumber>(page + done);
  const bool into_group = runs_on && done == wanted && parts_.incoming.comes_whole(next);
  const bool goes_on =
      done == at_once || (from == State::far && done == wanted && state_.is_in_ram(next));
  count(run, page,
        {.done = done,
         .left = goes_on && follows && !into_group ? run.pages - done : 0,
         .pace = goes_on || into_group ? run.pace : done});
  return filled;
}

/// Brings in a page with those before it, of its group: the one before may come whole, or be a
/// window.
Filled ReadAhead::bring_in_down(const Fault& fault, const Streams::Run& run) {
  const PageNumber page = fault.page;
  const State from = state_.table.state(page);
  const std::size_t most = std::min<std::size_t>(run.pages, page % huge_pages + 1);
  std::size_t wanted = 1;
  while (wanted < most && state_.table.state(static_cast<PageNumber>(page - wanted)) == from)
    ++wanted;
  const auto first = static_cast<PageNumber>(page + 1 - wanted);
  PageIn::Run filling{
      .first = first, .count = wanted, .from = from, .touched = page, .waking = fault.waking};
  if (wanted == 1) filling.protect = parts_.page_in.protection_for(page, fault.touch);
  Filled filled = parts_.page_in.fill(filling);
  if (filled.pages == wanted) {
    count(run, first, {.done = wanted, .pace = run.pace});
    return filled;
  }
  count_ahead(filled.pages);
  if (filled.retry || wanted == 1) return {.retry = filled.retry};
  // Another mapping may begin between them, or one was there already.
  filled =
      parts_.page_in.fill({.first = page, .from = from, .touched = page, .waking = fault.waking});
  if (filled.pages != 0) count(run, page, {.done = 1});
  return filled;
}

/// Brings in a group that was expected. None of it comes if it is to come page by page.
Filled ReadAhead::bring_in_group(PageNumber first, os::Waking waking) {
  IncomingGroups& incoming = parts_.incoming;
  if (!incoming.comes_whole(first)) return {};
  if (!incoming.begin(first)) {
    while (!incoming.charge_group())
      if (parts_.eviction.evict() == 0) return {};
  }
  const IncomingGroups::Arrived arrived = incoming.bring_in(first, waking);
  if (arrived.retry) return {.retry = true};
  for (std::size_t i = 0; i < arrived.pages; ++i)
    parts_.arrivals.arrive(static_cast<PageNumber>(first + i), i == 0);
  if (arrived.as_one) parts_.huge.mark_whole(first);
  state_.control.add(Count::copies_in, arrived.pages);
  state_.control.add(arrived.as_one ? Count::huge_ins : Count::split_ins);
  if (arrived.as_one && arrived.was_read) state_.control.add(Count::ready_ins);
  return {.pages = arrived.pages};
}

bool ReadAhead::bring_in_more() {
  const Streams::Part part = streams_.next_part();
  if (part.count == 0) return parts_.huge.collapse_one() || parts_.incoming.read_expected();
  std::size_t passed = 0;
  while (passed < part.count && state_.is_in_ram(static_cast<PageNumber>(part.first + passed)))
    ++passed;
  const auto page = static_cast<PageNumber>(part.first + passed);
  const std::size_t came = passed == part.count ? 0 : bring_in_followers(page, part.count - passed);
  streams_.advance(passed + came, came);
  count_ahead(came);
  return true;
}

/// Brings in far pages from `page` on that no thread waits for, of up to `wanted`; how many.
std::size_t ReadAhead::bring_in_followers(PageNumber page, std::size_t wanted) {
  IncomingGroups& incoming = parts_.incoming;
  if (page >= state_.table.size() || state_.table.state(page) != State::far) return 0;
  if (incoming.comes_whole(page)) {
    incoming.expect_next(page, 0);
    return 0;
  }
  const std::size_t pages = length(page, wanted, State::far, true);
  incoming.expect_next(static_cast<PageNumber>(page + pages), 0);
  const std::size_t done =
      parts_.page_in.fill({.first = page, .count = pages, .from = State::far}).pages;
  parts_.huge.came_in_order(page, done);
  return done;
}

/// How many pages from `page` on to bring in, of up to `wanted`; not into a group that comes whole,
/// where a stream `runs_on`.
std::size_t ReadAhead::length(PageNumber page, std::size_t wanted, State from, bool runs_on) const {
  std::size_t pages = 1;
  for (; pages < wanted; ++pages) {
    const auto next = static_cast<PageNumber>(page + pages);
    if (next >= state_.table.size() || state_.table.state(next) != from) break;
    if (from == State::fresh && next % huge_pages == 0) break;  // there a window may begin
    if (runs_on && parts_.incoming.comes_whole(next)) break;
  }
  return pages;
}

void ReadAhead::count(const Streams::Run& run, PageNumber page, const Done& done) {
  count_ahead(done.done - 1);
  state_.control.add(Count::read_ahead_hits,
                     streams_.brought(run, page, done.done, done.left, done.pace));
}

}  // namespace nearfar::tier
