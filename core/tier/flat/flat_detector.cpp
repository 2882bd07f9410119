#include "tier/flat/flat_detector.h"

#include <algorithm>
#include <utility>

namespace nearfar::tier {
namespace {

using os::page_bytes;
constexpr auto group_pages = static_cast<PageNumber>(PageTable::group);
/// Pages side by side that are taken out at once, and pages of one step.
constexpr std::size_t longest_probe = 16;
constexpr std::size_t pages_a_step = 64;

}  // namespace

/// So many pages a scan that each is probed once a decision: but no more than what takes a fiftieth
/// of a processor, by what a page has taken so far. At first that is what it takes on Linux 6.18,
/// out and back in runs of 16: 0.9 us. An interpreted guest takes a hundred times as long.
FlatDetector::Plan FlatDetector::plan(std::uint64_t pages, std::uint64_t scan_ns) const {
  constexpr std::uint64_t turns = policy::scans_a_decision;
  constexpr std::uint64_t share_of_processor = 50;
  constexpr std::uint64_t least = 16;
  const std::uint64_t affordable = std::max(scan_ns / share_of_processor / ns_a_page(), least);
  const std::uint64_t wanted = std::min((pages + turns - 1) / turns, affordable);
  const std::uint64_t most = state_.limbo.capacity();
  const std::uint64_t rounds = std::max<std::uint64_t>((wanted + most - 1) / most, 1);
  return {.rounds = rounds, .pages = (wanted + rounds - 1) / rounds};
}

void FlatDetector::begin_probes(std::size_t pages, std::uint64_t round_ns) {
  // What was long ago counts less and less.
  constexpr std::uint64_t remembered = 4096;
  for (looked_ += probes_; looked_ > remembered; looked_ /= 2) spent_ns_ /= 2;
  probes_ = 0;
  collected_ = 0;
  wanted_ = std::min(pages, probed_.size());
  state_.flat->time_probes(state_.memory(), round_ns);
}

bool FlatDetector::probe_some() {
  const PageNumber end = state_.end_page();
  std::size_t looked = 0;
  bool wrapped = false;
  while (probes_ < wanted_ && looked < pages_a_step) {
    const PageNumber page = state_.table.next_used(next_probed_, end);
    if (page == end) {
      next_probed_ = 0;
      if (std::exchange(wrapped, true)) break;
      continue;
    }
    const std::size_t done = take_run(page, wanted_ - probes_);
    looked += std::max<std::size_t>(done, 1);
    next_probed_ = static_cast<PageNumber>(page + std::max<std::size_t>(done, 1));
  }
  return looked != 0 && probes_ < wanted_ && !state_.limbo.full() && !wrapped;
}

/// Takes out pages from this one on, side by side; how many. None, if it cannot be.
std::size_t FlatDetector::take_run(PageNumber first, std::size_t most) {
  most = std::min(most, longest_probe);
  std::size_t run = 0;
  for (auto page = first; run < most && page < state_.end_page(); ++page, ++run) {
    if (state_.table.state(page) != State::near || eviction_.is_kept(page) ||
        !state_.flat->is_named(state_.table.dense(page)))
      break;
  }
  if (run == 0) return 0;
  const std::size_t done = mover_.take_out(first, run);
  for (std::size_t i = 0; i < done; ++i) {
    const auto page = static_cast<PageNumber>(first + i);
    state_.table[page].written = false;
    state_.flat->begin_probe(state_.table.dense(page));
    probed_[probes_++] = page;
  }
  return done;
}

bool FlatDetector::collect_some() {
  for (std::size_t done = 0; collected_ < probes_ && done < pages_a_step;) {
    const std::size_t run = collect_run(collected_);
    collected_ += run;
    done += run;
  }
  return collected_ < probes_;
}

/// Brings back pages side by side that were not touched, or takes one that was; how many.
std::size_t FlatDetector::collect_run(std::size_t first) {
  const PageNumber page = probed_[first];
  if (state_.table.state(page) == State::near) {
    const policy::PageIndex dense = state_.table.dense(page);
    const FlatPages& flat = *state_.flat;
    if (!flat.is_named(dense) || !flat.was_touched(dense)) return 1;
    const policy::Scan scan{.page = dense,
                            .accessed = true,
                            .written = state_.table[page].written,
                            .delay = flat.delay(dense),
                            .samples = flat.uses(dense)};
    tell({&scan, 1});
    return 1;
  }
  if (state_.table.state(page) != State::limbo) return 1;
  const auto is_next = [&](std::size_t i) {
    const auto next = static_cast<PageNumber>(page + i);
    return first + i < probes_ && probed_[first + i] == next &&
           state_.table.state(next) == State::limbo &&
           state_.table[next].position == state_.table[page].position + i;
  };
  std::size_t run = 1;
  while (run < longest_probe && is_next(run)) ++run;
  const std::size_t back = mover_.bring_back(page, run);
  std::array<policy::Scan, longest_probe> scans;
  for (std::size_t i = 0; i < back; ++i)
    scans[i] = {.page = state_.table.dense(static_cast<PageNumber>(page + i))};
  tell({scans.data(), back});
  return std::max<std::size_t>(back, 1);
}

void FlatDetector::tell(std::span<const policy::Scan> scans) {
  std::uint64_t used = 0;
  for (const policy::Scan& scan : scans) used += scan.accessed ? 1 : 0;
  found_ += used;
  state_.control.add(Count::scanned, scans.size());
  state_.control.add(Count::found_used, used);
  state_.flat->placement().scanned(scans);
}

bool FlatDetector::scan_some() {
  const PageNumber end = state_.end_page();
  const PageNumber page = state_.table.next_in_use(next_scanned_, end);
  if (page == end) {
    next_scanned_ = 0;
    return false;
  }
  const PageNumber first = page / group_pages * group_pages;
  PageNumber last = first + group_pages;
  // Side by side, so that the kernel is asked, and the processors' TLBs are flushed, once.
  const auto most = static_cast<PageNumber>(std::min<std::size_t>(first + pages_scanned, end));
  while (last < most && state_.table.next_in_use(last, last + group_pages) == last)
    last += group_pages;
  scan({first, last});
  next_scanned_ = last;
  return true;
}

void FlatDetector::scan(Pages pages) {
  Used used{};
  const os::Place end = state_.place(pages.last);
  for (os::Place from = state_.place(pages.first); from < end;) {
    std::array<os::PageMap::Run, 64> runs;
    const std::size_t count = is_of_writes() ? state_.memory().find_written(from, end, runs)
                                             : state_.memory().find_accessed(from, end, runs);
    for (const os::PageMap::Run& run : std::span(runs).first(count))
      for (os::Place at = run.begin; at < run.end; at += page_bytes)
        used[state_.number(at) - pages.first] = true;
  }
  for (PageNumber group = pages.first; group < pages.last; group += group_pages) {
    const auto of_group = std::span(used).subspan(group - pages.first).first<PageTable::group>();
    tell_group(group, of_group);
    if (state_.flat->has_forked())
      check_group(group, [&](PageNumber page) { return of_group[page - group]; });
    if (!is_of_writes()) rearm_group(group);
  }
}

/// A page that has come or moved since the scan before looks used by that alone, and is left out.
void FlatDetector::tell_group(PageNumber group, std::span<const bool, PageTable::group> used) {
  const PageTable& table = state_.table;
  FlatPages& flat = *state_.flat;
  const policy::PageIndex dense = table.dense(group);  // those of a group lie side by side
  std::array<policy::Scan, PageTable::group> scans;
  std::size_t count = 0;
  for (PageNumber i = 0; i < group_pages; ++i) {
    if (table[group + i].state != State::near || !flat.is_there(dense + i)) continue;
    if (flat.take_left_out(dense + i)) continue;
    // Of its own since then, if it was shared.
    if (is_of_writes() && used[i] && flat.has_forked()) flat.readmit(dense + i);
    if (!flat.is_named(dense + i)) continue;
    scans[count++] = {.page = dense + i, .accessed = used[i], .written = is_of_writes() && used[i]};
  }
  tell({scans.data(), count});
}

void FlatDetector::rearm_group(PageNumber group) {
  for (PageNumber page = group; page < group + group_pages;) {
    PageNumber end = page;
    while (end < group + group_pages && state_.table.state(end) == State::near) ++end;
    if (end != page)
      (void)state_.uffd().rearm(state_.place(page), std::size_t{end - page} * page_bytes);
    page = end + 1;
  }
}

void FlatDetector::check_some() {
  const std::size_t groups = state_.flat->has_forked() ? 8 : 1;
  for (std::size_t i = 0; i < groups; ++i) {
    const PageNumber end = state_.end_page();
    PageNumber page = state_.table.next_in_use(next_checked_, end);
    if (page == end) page = state_.table.next_in_use(0, end);
    if (page == end) return;
    const PageNumber group = page / group_pages * group_pages;
    next_checked_ = group + group_pages;
    check_group(group, [](PageNumber) { return true; });
  }
}

template <class Wanted>
void FlatDetector::check_group(PageNumber group, const Wanted& wanted) {
  FlatPages& flat = *state_.flat;
  const FlatControl& control = flat.control();
  if (control.near_node == control.far_node) return;
  std::array<os::Place, PageTable::group> places;
  std::array<int, PageTable::group> nodes;
  std::size_t count = 0;
  for (PageNumber at = group; at < group + group_pages; ++at)
    if (state_.table.state(at) == State::near && wanted(at)) places[count++] = state_.place(at);
  if (count == 0) return;
  state_.memory().find_nodes({places.data(), count}, {nodes.data(), count});
  for (std::size_t i = 0; i < count; ++i) {
    const policy::PageIndex dense = state_.table.dense(state_.number(places[i]));
    if (nodes[i] < 0 || !flat.is_there(dense)) continue;
    flat.correct(dense, nodes[i] == control.far_node ? policy::Tier::far : policy::Tier::near);
  }
}

void FlatDetector::forget() {
  probes_ = 0;
  collected_ = 0;
  wanted_ = 0;
}

}  // namespace nearfar::tier
