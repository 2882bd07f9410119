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
  std::size_t done = moved.bytes / page_bytes;
  // The kernel may have moved more than it says (os::Uffd::move): what lies there is of this page.
  while (done < count && state_.memory().is_present(state_.staged(position + done))) ++done;
  state_.put_in_limbo(first, done);
  if (done != 0 || state_.discard_dropped(first, moved.error)) return done;
  if (count > 1 && moved.error == -EINVAL) return take_out(first, 1);
  if (moved.error == -EBUSY || moved.error == -EINVAL)
    state_.flat->withdraw(state_.table.dense(first));
  return 0;
}

std::size_t Mover::take_or_refuse(PageNumber first, std::size_t count) {
  const std::size_t done = take_out(first, count);
  if (done == 0) state_.control.add(Count::refused);
  return done;
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
  // The mappings that the pages lie in may differ by now.
  if (count > 1 && moved.error != -EAGAIN) return bring_back(first, 1);
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

bool Mover::can_be(const policy::Exchange& exchange) const {
  return (exchange.promote == policy::no_page || is_in(exchange.promote, policy::Tier::far)) &&
         (exchange.demote == policy::no_page || is_in(exchange.demote, policy::Tier::near));
}

/// How many of these, from the first on, can be made at once.
std::size_t Mover::run_of(std::span<const policy::Exchange> exchanges) const {
  constexpr auto group = static_cast<policy::PageIndex>(PageTable::group);
  const auto follows = [](policy::PageIndex first, policy::PageIndex page, policy::PageIndex i) {
    return first == policy::no_page ? page == first
                                    : page == first + i && page / group == first / group;
  };
  const policy::Exchange& first = exchanges.front();
  const auto most =
      static_cast<policy::PageIndex>(std::min<std::size_t>(exchanges.size(), most_at_once));
  policy::PageIndex count = 0;
  while (count < most && follows(first.promote, exchanges[count].promote, count) &&
         follows(first.demote, exchanges[count].demote, count) && can_be(exchanges[count]))
    ++count;
  return count;
}

std::size_t Mover::make_some(std::span<const policy::Exchange> exchanges) {
  const auto& [promoted, demoted] = exchanges.front();
  const std::size_t count = run_of(exchanges);
  std::size_t done = 0;
  if (count == 0 || (promoted == policy::no_page && demoted == policy::no_page)) return 1;
  if (demoted == policy::no_page) {
    done = relocate(state_.table.page_of(promoted), count, policy::Tier::near);
  } else if (promoted == policy::no_page) {
    done = relocate(state_.table.page_of(demoted), count, policy::Tier::far);
  } else {
    done = exchange(state_.table.page_of(promoted), state_.table.page_of(demoted), count);
  }
  return std::max<std::size_t>(done, 1);
}

/// Has pages side by side change places with others; how many pairs did, none if the first cannot.
std::size_t Mover::exchange(PageNumber promoted, PageNumber demoted, std::size_t count) {
  const std::uint64_t begun = state_.memory().now_ns();
  // Those that are not used first: they alone may refuse for long, as after a fork.
  const std::size_t down = take_or_refuse(demoted, count);
  if (down == 0) return 0;
  const std::size_t done = take_or_refuse(promoted, down);
  for (PageNumber i = 0; i < done; ++i) swap(promoted + i, demoted + i);
  bring_back_each(promoted, done);
  bring_back_each(demoted, done);
  bring_back_each(static_cast<PageNumber>(demoted + done), down - done);
  note_away_since(begun);
  return done;
}

/// Brings back pages that lie in limbo side by side, but for those that cannot be brought back now.
void Mover::bring_back_each(PageNumber first, std::size_t count) {
  for (std::size_t i = 0; i < count && !state_.uffd().changing();)
    i += std::max<std::size_t>(bring_back(static_cast<PageNumber>(first + i), count - i), 1);
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

std::size_t Mover::relocate(PageNumber first, std::size_t count, policy::Tier to) {
  FlatPages& flat = *state_.flat;
  const bool near = to == policy::Tier::near;
  if (near && !flat.take_near(count)) {
    count = 1;
    if (!flat.take_near()) return 0;
  }
  const std::uint64_t begun = state_.memory().now_ns();
  const std::size_t taken = take_or_refuse(first, count);
  std::size_t done = 0;
  if (taken != 0) {
    const os::Place staged = state_.staged(state_.table[first].position);
    state_.allocate_in(to);
    done = parts_.page_in.put(first, os::pointer(staged), taken, os::Waking::at_once).pages;
    if (done != 0) {
      state_.memory().advise(staged, done * page_bytes, MADV_DONTNEED);
      note_back(first, done);
    }
    bring_back_each(static_cast<PageNumber>(first + done), taken - done);
    note_away_since(begun);
  }
  if (near) flat.give_up_near(count - done);
  for (PageNumber i = 0; i < done; ++i) {
    flat.set_tier(state_.table.dense(first + i), to);
    flat.leave_out(state_.table.dense(first + i));
  }
  return done;
}

}  // namespace nearfar::tier
