#include "tier/pager/eviction.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace nearfar::tier {
namespace {

using os::page_bytes;

constexpr std::size_t largest_batch = most_at_once;
constexpr std::size_t most_kept = 4096;

void nap() {
  const timespec a_millisecond{.tv_sec = 0, .tv_nsec = 1000000};
  os::call(__NR_nanosleep, os::word(&a_millisecond), 0);
}

}  // namespace

Eviction::Eviction(PagerState& state, Parts parts)
    : state_(state), parts_(parts), kept_(reserve_extents(most_kept)) {}

std::size_t Eviction::kept_pages() const {
  std::size_t pages = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i)
    pages += (kept_[i].end - kept_[i].begin) / page_bytes;
  return pages;
}

bool Eviction::evict_in_background() {
  const Budget& budget = state_.budget;
  const std::uint64_t recycled = parts_.incoming.has_recycled() ? huge_pages : 0;
  const std::uint64_t wanted = budget.wanted();
  const std::uint64_t least = std::max(state_.low_watermark(), wanted);
  if (forking_ || state_.keeps_near || budget.free() + recycled >= least) return false;
  if (granted_beyond_ != 0 && state_.memory().now_ns() < evicts_again_) return false;
  if (reap_now_and_then()) return true;
  if (parts_.windows.close_surplus()) return true;
  // Where others share the budget, only a process that has more than a fair part gives way.
  if (wanted == 0 && budget.others() != 0 && budget.own() * budget.processes() <= budget.limit())
    return false;
  return evict() != 0;
}

/// Where what cannot leave is more than the limit, all else has left by then, and would again at
/// the next fault: also what the same instruction needs. So a few pages may come before that.
bool Eviction::reserve(std::uint64_t pages, os::Waking waking) {
  constexpr std::uint64_t few = 64;
  constexpr std::uint64_t a_while_ns = 10'000'000;  // in which nothing leaves in the background
  for (int naps = 0; !state_.budget.try_charge(pages);) {
    if (granted_beyond_ == 0 && make_room(naps, waking)) continue;
    if (granted_beyond_ == 0) {
      granted_beyond_ = few;
      evicts_again_ = state_.memory().now_ns() + a_while_ns;
    } else {
      granted_beyond_ -= std::min(granted_beyond_, pages);
    }
    return false;
  }
  granted_beyond_ = 0;
  return true;
}

bool Eviction::make_room(int& naps, os::Waking waking) {
  constexpr int most_naps = 1000;  // others give way within a few
  constexpr int naps_between_rings = 16;
  if (reap_now_and_then() || parts_.incoming.drop_recycled() || evict() != 0) return true;
  if (!forking_ && parts_.children.reap()) return true;
  if (state_.budget.others() == 0) return false;
  if (naps == 0 && !others_.is_over(state_.memory().now_ns())) return false;
  if (++naps > most_naps) {
    others_.fail(state_.memory().now_ns());
    return false;
  }
  // Threads whose pages are there already are not to wait for other processes.
  if (waking == os::Waking::later) state_.uffd().wake(state_.region.base, state_.region.length);
  // A process that sleeps, alone in the budget so far, does not look whether another has come.
  if (naps % naps_between_rings == 1) bell_.wake_all();
  if (!state_.budget.reap()) nap();
  return true;
}

/// Gives up what processes of the tree that have ended still hold, before pages of this one leave;
/// whether there were any. Asking whether each process has ended takes three system calls.
bool Eviction::reap_now_and_then() {
  const std::uint64_t begun = state_.memory().now_ns();
  if (!all_live_.is_over(begun)) return false;
  if (state_.budget.reap()) {
    all_live_.succeed();
    return true;
  }
  const std::uint64_t now = state_.memory().now_ns();
  all_live_.fail(now, now - begun);
  return false;
}

std::size_t Eviction::evict() {
  if (parts_.windows.close_surplus() || parts_.incoming.expect_old_no_more()) return 1;
  const std::size_t room = state_.limbo.capacity() - state_.limbo.span();
  const std::size_t wanted = state_.batch();
  const std::size_t displaced = displace_named(std::min(room, wanted));
  const std::size_t done = displaced >= wanted ? displaced : displaced + drain(wanted);
  if (done != 0) return done;
  if (parts_.incoming.drop_all_read()) return 1;
  if (parts_.windows.open().size() == 0) return 0;
  parts_.windows.close_all();
  return 1;
}

/// Takes up to `most` pages, as the policy names them, into limbo; how many. Those that could not
/// leave before are named again once a round of the policy, and when no others are left. Where that
/// was mostly in vain, only others are asked for a while.
std::size_t Eviction::displace_named(std::size_t most) {
  state_.table.resize(state_.budget.limit());
  const std::size_t resident = state_.table.resident();
  const std::size_t others = resident - state_.table.passed_over();
  const bool may_run_out = others < most || immovable_.waits();
  const std::uint64_t begun = may_run_out ? state_.memory().now_ns() : 0;
  const bool asks_all = immovable_.is_over(begun);
  const std::uint64_t refused_before = refused_;
  std::size_t tries = asks_all ? resident : others;
  std::size_t done = 0;
  while (done < most && tries > 0) {
    const std::size_t before = tries;
    done += displace_batch(most - done, tries);
    if (tries == before) break;  // the policy names no more
  }
  if (done == 0 && most != 0) done = displace_group(parts_.huge.take_oldest());
  if (asks_all && may_run_out) judge(done, refused_ - refused_before, begun);
  return done;
}

/// All pages have been asked to leave since `begun`: so many did, and so many could not.
void Eviction::judge(std::size_t done, std::uint64_t refused, std::uint64_t begun) {
  constexpr std::uint64_t mostly = 8;
  if (refused <= largest_batch || refused <= mostly * done) {
    if (done != 0) immovable_.succeed();
    return;
  }
  const std::uint64_t now = state_.memory().now_ns();
  immovable_.fail(now, now - begun);
}

/// Has the policy name up to `most` pages, one of `tries` each, and takes them into limbo; or the
/// group that is complete by one of these. How many left.
std::size_t Eviction::displace_batch(std::size_t most, std::size_t& tries) {
  std::array<PageNumber, largest_batch> chosen;
  const std::size_t wanted = std::min({most, tries, chosen.size()});
  std::size_t count = 0;
  LeavingGroups::Group group;
  for (; count < wanted && group.first == no_page && tries > 0; --tries) {
    const PageNumber page = state_.table.evict();
    if (page == no_page) break;
    if (parts_.huge.leaves_whole(page)) {
      group = parts_.huge.name(page);
    } else {
      state_.table.prefetch(page);
      chosen[count++] = page;
    }
  }
  // In the order of addresses, so that those side by side are moved at once.
  std::sort(chosen.begin(), chosen.begin() + count);
  const std::size_t done = displace_all({chosen.data(), count});
  return done + displace_group(group);
}

/// Moves chosen pages into limbo, or tells the policy that they cannot leave; how many moved.
std::size_t Eviction::displace_all(std::span<const PageNumber> chosen) {
  const HeldRanges::Leaving leaving(state_.held);
  std::size_t done = 0;
  while (!chosen.empty()) {
    if (is_kept(chosen[0])) {
      pass_over(chosen[0]);
      chosen = chosen.subspan(1);
      continue;
    }
    std::size_t run = 1;
    while (run < chosen.size() && chosen[run] == chosen[0] + run && !is_kept(chosen[run])) ++run;
    const std::size_t moved = displace_run(chosen[0], run);
    done += moved;
    chosen = chosen.subspan(std::max<std::size_t>(1, moved));
  }
  state_.control.add(Count::evictions, done);
  return done;
}

bool Eviction::displace(PageNumber page) {
  const HeldRanges::Leaving leaving(state_.held);
  const os::Place at = state_.place(page);
  if (state_.held.overlaps(at, at + page_bytes)) return false;
  state_.table.remove(page);  // the policy, which has not named it, forgets it
  const std::size_t done = displace_run(page, 1);
  state_.control.add(Count::evictions, done);
  return done != 0;
}

/// Moves chosen pages that lie side by side into limbo; how many, from the first on. If none, the
/// first is taken care of.
std::size_t Eviction::displace_run(PageNumber first, std::size_t count) {
  const Limbo& limbo = state_.limbo;
  if (limbo.full()) (void)drain(state_.batch());
  const std::size_t position = limbo.next_position();
  std::size_t run = std::min({count, limbo.capacity() - position, limbo.capacity() - limbo.span()});
  if (first == behind_protected_) run = 1;  // what follows is most likely the same
  os::Moved moved = stage(first, position, run);
  while (moved.error == -EINVAL && run > 1) {  // parts of it are protected otherwise, or locked
    run /= 2;
    moved = stage(first, position, run);
  }
  if (moved.error == -EINVAL) behind_protected_ = first + 1;
  if (moved.error == -EBUSY && moved.bytes == 0 && state_.has_forked && own_copy(first))
    moved = state_.staging_uffd().move(state_.staged(position), state_.place(first), page_bytes);
  const std::size_t done = moved.bytes / page_bytes;
  state_.put_in_limbo(first, done);
  if (done == 0) refuse(first, moved.error);
  return done;
}

os::Moved Eviction::stage(PageNumber first, std::size_t position, std::size_t count) const {
  const os::Place to = state_.staged(position);
  const os::Place from = state_.place(first);
  return state_.uffd().moves() ? state_.staging_uffd().move(to, from, count * page_bytes)
                               : stage_by_copy(to, from, count * page_bytes);
}

/// Copies pages side by side to staging memory and drops them where they were; how many bytes, and
/// why no more. -ENOENT: the program dropped the first one by a system call of its own.
os::Moved Eviction::stage_by_copy(os::Place to, os::Place from, std::size_t length) const {
  // So many lie twice in memory for a moment.
  constexpr std::size_t most = 16 * page_bytes;
  const os::Memory& memory = state_.memory();
  length = std::min(length, most);
  if (const long error = state_.uffd().protect(from, length); error != 0) {
    if (length > page_bytes) return stage_by_copy(to, from, page_bytes);  // it left the mapping
    return {0, error};
  }
  const std::size_t copied = memory.read(from, os::pointer(to), length);
  std::size_t dropped = copied;
  if (copied != 0 && memory.advise(from, copied, MADV_DONTNEED) != 0) {
    dropped = 0;
    while (dropped < copied && memory.advise(from + dropped, page_bytes, MADV_DONTNEED) == 0)
      dropped += page_bytes;
  }
  if (dropped < length) {
    state_.uffd().unprotect(from + dropped, length - dropped, os::Waking::at_once);
    memory.advise(to + dropped, length - dropped, MADV_DONTNEED);
  }
  if (dropped != 0) return {dropped, 0};
  return {0, confirm_gone(from) ? -ENOENT : -EINVAL};
}

bool Eviction::confirm_gone(os::Place at) const {
  alignas(page_bytes) static constexpr unsigned char zeros[page_bytes] = {};
  // Protected, so that a write waits which would be dropped with them.
  const os::Uffd& uffd = state_.uffd();
  const os::Protect protect = uffd.protects() ? os::Protect::on : os::Protect::off;
  if (uffd.copy(at, zeros, page_bytes, os::Waking::later, protect).bytes == 0) return false;
  state_.memory().advise(at, page_bytes, MADV_DONTNEED);
  return true;
}

/// Gives the process a copy of its own of a page that it shares since a fork, as if the program had
/// written to it. Not while it may be protected: the pager's thread would wait for itself.
bool Eviction::own_copy(PageNumber page) {
  const os::Place at = state_.place(page);
  if (state_.uffd().protects() && state_.uffd().unprotect(at, page_bytes, os::Waking::at_once) != 0)
    return false;
  state_.table[page].write_protected = false;
  return state_.memory().advise(at, page_bytes, MADV_POPULATE_WRITE) == 0;
}

/// The kernel did not move a page: it is gone, pinned for a device, or protected.
void Eviction::refuse(PageNumber page, long error) {
  if (!state_.discard_dropped(page, error)) pass_over(page);
}

void Eviction::pass_over(PageNumber page) {
  ++refused_;
  state_.control.add(Count::pinned);
  state_.table.refuse(page);
}

/// Takes what the policy has named of a group that came as one into limbo, but for what has left
/// meanwhile; how many pages.
std::size_t Eviction::displace_group(const LeavingGroups::Group& group) {
  if (group.first == no_page) return 0;
  Limbo& limbo = state_.limbo;
  while (limbo.room_aligned(huge_pages) < huge_pages && drain(state_.batch()) != 0) {
  }
  std::array<PageNumber, huge_pages> chosen;
  std::size_t count = 0;
  for (PageNumber page = group.first; page < group.first + huge_pages; ++page)
    if (group.has(page) && state_.table.state(page) == State::near) chosen[count++] = page;
  const bool whole = count == huge_pages;
  if (whole) {
    limbo.align(huge_pages);
    // A table for small pages that is left there would make the kernel split the huge page.
    state_.memory().advise(state_.staged(limbo.next_position()), huge_bytes, MADV_DONTNEED);
    state_.control.add(Count::huge_moves);
  }
  parts_.huge.mark_split(group.first);
  const std::size_t moved = displace_all({chosen.data(), count});
  if (whole && moved == huge_pages) parts_.incoming.mark_unpopulated(group.first);
  return moved;
}

std::size_t Eviction::drain(std::size_t most) {
  if (const std::size_t done = drain_group(); done != 0) return done;
  Limbo& limbo = state_.limbo;
  Leaving leaving{};
  std::size_t position = limbo.oldest();
  for (std::size_t left = limbo.span(); left > 0 && leaving.count < most; --left) {
    if (leaving.count > 0 && parts_.huge.is_whole_in_limbo(position)) break;  // that goes as one
    if (limbo.at(position) != no_page) {
      state_.table.prefetch(limbo.at(position));
      leaving.positions[leaving.count++] = position;
    }
    position = (position + 1) % limbo.capacity();
  }
  parts_.write_back.save(leaving);
  for (std::size_t i = 0; i < leaving.count; i += leaving.run(i))
    state_.release_staged(leaving.positions[i], leaving.run(i));
  return leaving.count;
}

/// Finishes the oldest pages in limbo if they came there as one; how many.
std::size_t Eviction::drain_group() {
  const std::size_t position = state_.limbo.oldest();
  if (!parts_.huge.is_whole_in_limbo(position)) return 0;
  for (std::size_t i = 0; i < huge_pages; i += largest_batch) {
    Leaving leaving{};
    for (; leaving.count < largest_batch; ++leaving.count)
      leaving.positions[leaving.count] = position + i + leaving.count;
    parts_.write_back.save(leaving);
  }
  if (!parts_.incoming.recycle(position)) state_.release_staged(position, huge_pages);
  return huge_pages;
}

}  // namespace nearfar::tier
