#include "tier/pager/incoming_groups.h"

#include <algorithm>
#include <array>
#include <utility>

namespace nearfar::tier {

using os::page_bytes;

IncomingGroups::IncomingGroups(PagerState& state, FarPages& far)
    : state_(state), far_(far), unpopulated_(reserve_groups(state.table.size())) {}

void IncomingGroups::use_staging(os::Place recycled, os::Place incoming) {
  recycled_ = RecycledGroups(recycled);
  incoming_ = incoming;
}

bool IncomingGroups::comes_whole(PageNumber page) const {
  if (page % huge_pages != 0 || page >= state_.table.size() || !state_.moves_groups() ||
      !unpopulated_.has(page))
    return false;
  for (PageNumber i = page; i < page + huge_pages; ++i)
    if (state_.table.state(i) != State::far) return false;
  return !state_.unmanaged.overlaps(state_.place(page), state_.place(page + huge_pages));
}

void IncomingGroups::populate(PageNumber page) {
  unpopulated_.remove(page);
  const auto first = static_cast<PageNumber>(page - page % huge_pages);
  if (ExpectedGroups::Group* const group = expected_.find(first)) drop_read(*group);
}

void IncomingGroups::expect_next(PageNumber from, std::size_t passed, PageNumber kept) {
  const PageNumber first = next_whole(from);
  if (first != no_page) expect(first, passed, kept);
}

/// The next group from here on that could come back as one, if all before it is in RAM; `no_page`
/// if there is none.
PageNumber IncomingGroups::next_whole(PageNumber from) const {
  const std::size_t end = std::min(from + Streams::farthest, state_.table.size());
  for (PageNumber page = from; page < end; ++page) {
    if (comes_whole(page)) return page;
    if (!state_.is_in_ram(page)) break;
  }
  return no_page;
}

void IncomingGroups::expect(PageNumber first, std::size_t passed, PageNumber kept) {
  if (ExpectedGroups::Group* const known = expected_.find(first)) {
    known->chained = false;
    known->passed = std::max(known->passed, passed);
    return;
  }
  ExpectedGroups::Group& group = expected_.next(kept);
  if (group.first != no_page) expect_no_more(group);
  expected_.expect(group, first, passed);
  state_.memory().advise(state_.place(first), huge_bytes, MADV_HUGEPAGE);
}

/// Expects one more group, behind one that has been read already, as a stream that has run into
/// some will go on beyond that; false if there is none, or no room to read it.
bool IncomingGroups::expect_further() {
  constexpr std::uint64_t now_and_then = 32;  // faults
  if (!can_hold() || expected_.find(no_page) == nullptr) return false;
  for (ExpectedGroups::Group& group : expected_.all()) {
    if (group.first == no_page || group.read != huge_pages || group.passed == 0) continue;
    if (group.looked_behind != 0 && state_.faults - group.looked_behind < now_and_then) continue;
    group.looked_behind = state_.faults;
    const PageNumber next = next_whole(static_cast<PageNumber>(group.first + huge_pages));
    if (next == no_page || expected_.find(next) != nullptr) continue;
    expect(next, group.passed);
    expected_.find(next)->chained = true;
    return true;
  }
  return false;
}

void IncomingGroups::leave_to_window(PageNumber first) {
  if (ExpectedGroups::Group* const group = expected_.find(first)) *group = {};
}

bool IncomingGroups::expect_old_no_more() {
  constexpr std::uint64_t many = 4096;
  ExpectedGroups::Group* const old = expected_.oldest([this](const ExpectedGroups::Group& group) {
    return group.held() && state_.faults - group.held_since > many;
  });
  if (old != nullptr) expect_no_more(*old);
  return old != nullptr;
}

void IncomingGroups::expect_no_more(ExpectedGroups::Group& group) {
  drop_read(group);
  const os::Place begin = state_.place(std::exchange(group, {}).first);
  const os::Place end = begin + huge_bytes;
  if (!state_.unmanaged.overlaps(begin, end))
    state_.memory().advise(begin, end - begin, MADV_NOHUGEPAGE);
}

bool IncomingGroups::read_expected() {
  // A thread that gets a signal for its fault has no other that reads for it.
  if (state_.faults_as == os::Faults::signal) return false;
  for (;;) {
    ExpectedGroups::Group* const next = expected_.oldest(
        [](const ExpectedGroups::Group& group) { return group.read < huge_pages && !group.unfit; });
    if (next == nullptr && expect_further()) continue;
    if (next == nullptr || (!next->held() && !can_hold())) return false;
    if (comes_whole(next->first)) {
      if (!next->held() && !charge_group()) return false;
      if (next->held() || hold(*next)) {
        read(*next, most_at_once);
        return true;
      }
    }
    drop_read(*next);
    next->unfit = true;
  }
}

/// Whether there is room to read one more group ahead. Of near memory, an eighth at most waits so.
bool IncomingGroups::can_hold() const {
  constexpr std::uint64_t part = 8;
  return (expected_.held() + 1) * huge_pages <= state_.budget.limit() / part &&
         (recycled_.has_spare() || state_.budget.free() >= huge_pages);
}

bool IncomingGroups::charge_group() {
  return recycled_.has_spare() || state_.budget.try_charge(huge_pages);
}

/// Gives a group memory to be read to, which is charged already; whether that is a huge page.
bool IncomingGroups::hold(ExpectedGroups::Group& group) {
  group.memory = recycled_.take();
  if (group.held()) {
    state_.control.add(Count::recycled_ins);
  } else {
    group.memory = incoming_ + expected_.index(group) * huge_bytes;
    *os::pointer<volatile char>(group.memory) = 0;
  }
  group.held_since = state_.faults;
  return is_huge(group.memory);
}

/// Reads up to `pages` more of a group to where it comes in.
void IncomingGroups::read(ExpectedGroups::Group& group, std::size_t pages) {
  auto* const to = os::pointer<unsigned char>(group.memory) + group.read * page_bytes;
  const std::size_t count = std::min(pages, huge_pages - group.read);
  if (count == 0) return;
  far_.read(static_cast<PageNumber>(group.first + group.read), count, to);
  group.read += count;
}

bool IncomingGroups::begin(PageNumber first) {
  ExpectedGroups::Group& group = *expected_.find(first);
  group.chained = false;
  expect_next(static_cast<PageNumber>(first + huge_pages), group.passed + 1, first);
  return group.held();
}

IncomingGroups::Arrived IncomingGroups::bring_in(PageNumber first, os::Waking waking) {
  ExpectedGroups::Group& group = *expected_.find(first);
  const bool ready = group.read == huge_pages;
  const bool fit = group.held() || hold(group);
  os::Moved moved;
  if (fit) {
    read(group, huge_pages);
    moved = state_.uffd().move(state_.place(first), group.memory, huge_bytes, waking);
  }
  if (moved.bytes == 0 && moved.error == -EAGAIN) return {.retry = true};
  std::size_t done = moved.bytes / page_bytes;
  // The kernel may have moved more than it says (os::Uffd::move).
  const auto is_there = [&](std::size_t i) {
    return state_.memory().is_present(state_.place(static_cast<PageNumber>(first + i)));
  };
  while (fit && done < huge_pages && is_there(done)) ++done;
  const bool as_one = done == huge_pages && is_huge(state_.place(first));
  // What is left, or the table for small pages that what is gone has left.
  if (!as_one) state_.memory().advise(group.memory, huge_bytes, MADV_DONTNEED);
  recycled_.empty(std::exchange(group.memory, 0));
  unpopulated_.remove(first);
  expect_no_more(group);
  state_.budget.release(huge_pages - done);
  return {.pages = done, .as_one = as_one, .was_read = ready};
}

void IncomingGroups::drop_read(ExpectedGroups::Group& group) {
  if (!group.held()) return;
  drop_memory(std::exchange(group.memory, 0));
  group.read = 0;
}

bool IncomingGroups::drop_all_read() {
  bool any = drop_recycled();
  while (ExpectedGroups::Group* const group =
             expected_.oldest([](const ExpectedGroups::Group& other) { return other.held(); })) {
    drop_read(*group);
    any = true;
  }
  return any;
}

bool IncomingGroups::drop_recycled() {
  if (!recycled_.has_spare()) return false;
  drop_memory(recycled_.take());
  return true;
}

/// Gives up memory that a group was, or would have been, read to.
void IncomingGroups::drop_memory(os::Place memory) {
  state_.memory().advise(memory, huge_bytes, MADV_DONTNEED);
  recycled_.empty(memory);
  state_.budget.release(huge_pages);
}

bool IncomingGroups::recycle(std::size_t position) {
  // Not if other processes could use the memory, or if little else were free.
  if (state_.keeps_near || state_.budget.others() != 0 || state_.low_watermark() < 2 * huge_pages)
    return false;
  const os::Place to = recycled_.room();
  if (to == RecycledGroups::nowhere || !expected_.any()) return false;
  const os::Place from = state_.staged(position);
  if (state_.staging_uffd().move(to, from, huge_bytes).bytes != huge_bytes) {
    state_.memory().advise(to, huge_bytes, MADV_DONTNEED);
    return false;
  }
  for (std::size_t i = 0; i < huge_pages; ++i) state_.limbo.remove(position + i);
  recycled_.keep(to);
  if (!is_huge(to)) drop_recycled();
  return true;
}

bool IncomingGroups::is_huge(os::Place at) const {
  std::array<os::PageMap::Run, 1> run;
  const os::Place end = at + huge_bytes;
  os::Place from = at;
  return state_.memory().find_present(from, end, run) == 1 && run[0].huge && run[0].begin == at &&
         run[0].end == end;
}

}  // namespace nearfar::tier
