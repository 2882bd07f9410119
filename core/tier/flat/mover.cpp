#include "tier/flat/mover.h"

#include <algorithm>
#include <cstring>

namespace nearfar::tier {
namespace {

using os::page_bytes;

}  // namespace

std::size_t Mover::take_out(PageNumber first, std::size_t count) {
  const Limbo& limbo = state_.limbo;
  if (limbo.full()) return 0;
  const std::size_t position = limbo.next_position();
  count = std::min({count, limbo.capacity() - position, limbo.capacity() - limbo.span()});
  const os::Moved moved =
      state_.staging_uffd().move(state_.staged(position), state_.place(first), count * page_bytes);
  const std::size_t done = moved.bytes / page_bytes;
  state_.put_in_limbo(first, done);
  if (done == 0) (void)state_.discard_dropped(first, moved.error);
  return done;
}

bool Mover::take_one(PageNumber page) {
  if (take_out(page, 1) == 1) return true;
  state_.control.add(Count::refused);
  return false;
}

/// The pages are in their places again, untouched by the program; uses are noted from now on.
void Mover::note_back(PageNumber first, std::size_t count) {
  state_.flat->set_returning(true);
  for (std::size_t i = 0; i < count; ++i)
    parts_.arrivals.come_back(static_cast<PageNumber>(first + i));
  state_.flat->set_returning(false);
  (void)state_.uffd().rearm(state_.place(first), count * page_bytes);
}

std::size_t Mover::bring_back(PageNumber first, std::size_t count) {
  const os::Place staged = state_.staged(state_.table[first].position);
  const os::Moved moved =
      state_.uffd().move(state_.place(first), staged, count * page_bytes, os::Waking::at_once);
  const std::size_t done = moved.bytes / page_bytes;
  if (done != 0) {
    // The last one may have been there already (os::Uffd::move).
    if (moved.error == -EEXIST)
      state_.memory().advise(staged + (done - 1) * page_bytes, page_bytes, MADV_DONTNEED);
    note_back(first, done);
    return done;
  }
  const bool changing = moved.error == -EAGAIN || moved.error == -ENOENT;
  return !changing && bring_copy_back(first) ? 1 : 0;
}

/// The program has protected the page's place since it left: the kernel moves nothing there, but
/// copies. The copy's frame is of the same tier.
bool Mover::bring_copy_back(PageNumber page) {
  const os::Place staged = state_.staged(state_.table[page].position);
  state_.allocate_in(state_.flat->tier(state_.table.dense(page)));
  if (parts_.page_in.put(page, os::pointer(staged), 1, os::Waking::at_once).pages == 0)
    return false;
  state_.memory().advise(staged, page_bytes, MADV_DONTNEED);
  note_back(page, 1);
  return true;
}

bool Mover::bring_all_back() {
  Limbo& limbo = state_.limbo;
  std::size_t position = limbo.oldest();
  for (std::size_t left = limbo.span(); left > 0;) {
    const PageNumber page = limbo.at(position);
    std::size_t run = 1;
    if (page != no_page) {
      while (run < left && position + run < limbo.capacity() &&
             limbo.at(position + run) == page + run)
        ++run;
      // Positions that empty at the front are passed over: `left` counts those still ahead.
      const std::size_t done = bring_back(page, run);
      run = std::max<std::size_t>(done, 1);
    }
    position = (position + run) % limbo.capacity();
    left -= run;
  }
  return limbo.pages() == 0;
}

bool Mover::is_in(policy::PageIndex page, policy::Tier tier) const {
  const FlatPages& flat = *state_.flat;
  if (page >= flat.end() || !flat.is_there(page) || flat.tier(page) != tier) return false;
  const PageNumber number = state_.table.page_of(page);
  return state_.table.state(number) == State::near && !parts_.eviction.is_kept(number);
}

void Mover::make(const policy::Exchange& exchange) {
  const bool promotes = exchange.promote != policy::no_page;
  const bool demotes = exchange.demote != policy::no_page;
  if ((promotes && !is_in(exchange.promote, policy::Tier::far)) ||
      (demotes && !is_in(exchange.demote, policy::Tier::near)))
    return;
  if (!promotes || !demotes) {
    const policy::PageIndex page = promotes ? exchange.promote : exchange.demote;
    (void)relocate(state_.table.page_of(page), promotes ? policy::Tier::near : policy::Tier::far);
    return;
  }
  const PageNumber promoted = state_.table.page_of(exchange.promote);
  const PageNumber demoted = state_.table.page_of(exchange.demote);
  const std::uint64_t begun = state_.memory().now_ns();
  if (!take_one(promoted)) return;
  if (!take_one(demoted)) {
    (void)bring_back(promoted, 1);
    return;
  }
  swap(promoted, demoted);
  (void)bring_back(promoted, 1);
  (void)bring_back(demoted, 1);
  note_away_since(begun);
}

void Mover::note_away_since(std::uint64_t begun) const {
  state_.control.raise(Count::longest_away_ns, state_.memory().now_ns() - begun);
}

/// Both are in limbo: each gets the other's frame, and keeps its contents.
void Mover::swap(PageNumber promoted, PageNumber demoted) {
  Page& up = state_.table[promoted];
  Page& down = state_.table[demoted];
  void* const far = os::pointer(state_.staged(up.position));
  void* const near = os::pointer(state_.staged(down.position));
  std::memcpy(far_copies, far, page_bytes);
  std::memcpy(far, near, page_bytes);
  std::memcpy(near, far_copies, page_bytes);
  std::swap(up.position, down.position);
  state_.limbo.rename(up.position, promoted);
  state_.limbo.rename(down.position, demoted);
  FlatPages& flat = *state_.flat;
  flat.exchange(state_.table.dense(promoted), state_.table.dense(demoted));
  // Both will look used, as they have moved.
  flat.leave_out(state_.table.dense(promoted));
  flat.leave_out(state_.table.dense(demoted));
}

bool Mover::relocate(PageNumber page, policy::Tier to) {
  FlatPages& flat = *state_.flat;
  const policy::PageIndex dense = state_.table.dense(page);
  if (to == policy::Tier::near && !flat.take_near()) return false;
  const auto give_up = [&] {
    if (to == policy::Tier::near) flat.give_up_near();
    return false;
  };
  const std::uint64_t begun = state_.memory().now_ns();
  if (!take_one(page)) return give_up();
  const os::Place staged = state_.staged(state_.table[page].position);
  state_.allocate_in(to);
  if (parts_.page_in.put(page, os::pointer(staged), 1, os::Waking::at_once).pages == 0) {
    (void)bring_back(page, 1);
    return give_up();
  }
  state_.memory().advise(staged, page_bytes, MADV_DONTNEED);
  note_back(page, 1);
  note_away_since(begun);
  flat.set_tier(dense, to);
  flat.leave_out(dense);
  return true;
}

}  // namespace nearfar::tier
