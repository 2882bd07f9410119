// How pages leave: out of their place into limbo, and from there to the far file.

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "tier/pager/pager.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

// Pages side by side that move at once cost an eighth of what one alone costs; more gain little.
constexpr std::size_t largest_batch = most_at_once;
constexpr std::size_t smallest_batch = 16;

bool all_zeros(const void* contents) {
  const auto* words = static_cast<const std::uint64_t*>(contents);
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < page_bytes / sizeof(std::uint64_t); i += 8) {
    for (std::size_t j = 0; j < 8; ++j) any |= words[i + j];
    if (any != 0) return false;
  }
  return true;
}

void nap() {
  const timespec a_millisecond{.tv_sec = 0, .tv_nsec = 1000000};
  os::call(__NR_nanosleep, os::word(&a_millisecond), 0);
}

}  // namespace

/// How many pages go a step at a time: so few where limbo is small that there is some of it left.
std::size_t Pager::batch() const {
  const std::size_t part = limbo_.capacity() / 4;
  if (part < smallest_batch) return smallest_batch;
  return part < largest_batch ? part : largest_batch;
}

std::uint64_t Pager::low_watermark() const {
  // Where windows of 2 MiB are a 32nd of it, one is free with what the table takes for it.
  const std::uint64_t limit = budget_.limit();
  const std::uint64_t part = limit / 32 + (moves_whole() ? limit / 256 : 0);
  return part < smallest_batch ? smallest_batch : part;
}

bool Pager::evict_in_background() {
  const std::uint64_t recycled = recycled_.has_spare() ? huge_pages : 0;
  const std::uint64_t wanted = budget_.wanted();
  const std::uint64_t least = std::max(low_watermark(), wanted);
  if (is_paused() || kept_ || budget_.free() + recycled >= least) return false;
  if (granted_beyond_ != 0 && memory_.now_ns() < evicts_again_) return false;
  if (give_windows_back()) return true;
  // Where others share the budget, only who has more than a fair part gives way.
  if (wanted == 0 && budget_.others() != 0 &&
      budget_.own() * budget_.processes() <= budget_.limit())
    return false;
  return evict() != 0;
}

/// Charges pages that will be granted, once there is room. False, and nothing is charged, if the
/// budget does not have them.
///
/// Where what cannot leave is more than the limit, all else has left by then, and would again at
/// the next fault: also what the same instruction needs. So a few pages may come before that.
bool Pager::reserve(std::uint64_t pages) {
  constexpr std::uint64_t few = 64;
  constexpr std::uint64_t a_while_ns = 10'000'000;  // in which nothing leaves in the background
  for (int naps = 0; !budget_.try_charge(pages);) {
    if (granted_beyond_ == 0 && more_room(naps)) continue;
    if (granted_beyond_ == 0) {
      granted_beyond_ = few;
      evicts_again_ = memory_.now_ns() + a_while_ns;
    } else {
      granted_beyond_ -= std::min(granted_beyond_, pages);
    }
    return false;
  }
  granted_beyond_ = 0;
  return true;
}

/// Evicts, or waits a little for another process of the tree to do so. False if neither helps.
bool Pager::more_room(int& naps) {
  constexpr int most_naps = 1000;  // others give way within a few
  constexpr int naps_between_rings = 16;
  if (drop_recycled() || evict() != 0) return true;
  if (!is_paused() && reap()) return true;
  if (budget_.others() == 0 || ++naps > most_naps) return false;
  if (waking_ == os::Waking::later) wake_all();  // whose pages are there is not to wait for others
  // Who sleeps alone in the budget does not look by itself whether somebody has come.
  if (naps % naps_between_rings == 1) bell_.ring();
  if (!budget_.reap()) nap();
  return true;
}

/// One step of eviction: a batch into limbo, and when that is full, a batch out of it. How many
/// pages made progress.
std::size_t Pager::evict() {
  if (give_windows_back() || expect_old_no_more()) return 1;
  const std::size_t room = limbo_.capacity() - limbo_.span();
  const std::size_t wanted = batch();
  const std::size_t displaced = displace(room < wanted ? room : wanted);
  const std::size_t done = displaced >= wanted ? displaced : displaced + drain(wanted);
  if (done != 0) return done;
  if (drop_all_read()) return 1;
  if (windows_.size() == 0) return 0;
  close_all_windows();
  return 1;
}

/// Takes up to `most` pages, as the policy names them, into limbo; how many.
std::size_t Pager::displace(std::size_t most) {
  table_.resize(budget_.limit());
  std::size_t done = 0;
  // Where none could leave the last time, all are asked for a tenth of the time at most.
  const std::uint64_t begun = in_vain_until_ != 0 ? memory_.now_ns() : 0;
  const std::size_t resident = table_.resident();
  const bool asks_all = begun >= in_vain_until_;
  for (std::size_t tries = asks_all ? resident : std::min(resident, largest_batch);
       done < most && tries > 0;) {
    std::array<PageNumber, largest_batch> chosen;
    const std::size_t wanted = std::min({most - done, tries, chosen.size()});
    std::size_t count = 0;
    LeavingGroups::Group group;  // filled as one, which leaves now
    for (; count < wanted && group.first == no_page && tries > 0; --tries) {
      const PageNumber page = table_.evict();
      if (page == no_page) break;
      if (moves_whole() && whole_.has(page)) {
        group = leaving_.name(page);
      } else {
        table_.prefetch(page);
        chosen[count++] = page;
      }
    }
    if (count == 0 && group.first == no_page) break;
    // In the order of addresses, so that those side by side are moved at once.
    std::sort(chosen.begin(), chosen.begin() + count);
    done += displace_all({chosen.data(), count});
    done += displace_group(group);
  }
  if (done == 0 && most != 0) done = displace_group(leaving_.take_oldest());
  if (done != 0) {
    in_vain_until_ = 0;
  } else if (most != 0 && resident > largest_batch && asks_all) {
    constexpr std::uint64_t of_the_time = 10;
    const std::uint64_t now = memory_.now_ns();
    in_vain_until_ = begun == 0 ? now : now + of_the_time * (now - begun);
  }
  return done;
}

/// Moves chosen pages into limbo, or tells the policy that they cannot leave; how many moved.
std::size_t Pager::displace_all(std::span<const PageNumber> chosen) {
  std::size_t done = 0;
  while (!chosen.empty()) {
    if (wants_near(chosen[0])) {
      control_.add(Count::pinned);
      table_.refuse(chosen[0]);
      chosen = chosen.subspan(1);
      continue;
    }
    std::size_t run = 1;
    while (run < chosen.size() && chosen[run] == chosen[0] + run && !wants_near(chosen[run])) ++run;
    const std::size_t moved = displace_run(chosen[0], run);
    done += moved;
    chosen = chosen.subspan(std::max<std::size_t>(1, moved));
  }
  control_.add(Count::evictions, done);
  return done;
}

/// Moves chosen pages that lie side by side into limbo; how many, from the first on. If none, the
/// first is taken care of.
std::size_t Pager::displace_run(PageNumber first, std::size_t count) {
  const std::size_t position = limbo_.next_position();
  std::size_t run = std::min(count, limbo_.capacity() - position);
  const auto displaced = [&] {
    return uffd_.moves() ? staging_uffd_.move(staged(position), place(first), run * page_bytes)
                         : copy_to(staged(position), place(first), run * page_bytes);
  };
  os::Moved moved = displaced();
  while (moved.error == -EINVAL && run > 1) {  // parts of it are protected otherwise, or locked
    run /= 2;
    moved = displaced();
  }
  if (moved.error == -EBUSY && moved.bytes == 0 && has_forked_ && own_copy(first))
    moved = staging_uffd_.move(staged(position), place(first), page_bytes);
  const std::size_t done = moved.bytes / page_bytes;
  for (std::size_t i = 0; i < done; ++i) {
    const auto page = static_cast<PageNumber>(first + i);
    table_[page].state = State::limbo;
    table_[page].position = static_cast<std::uint16_t>(position + i);
    limbo_.push(page);
  }
  if (done == 0) refused(first, moved.error);
  return done;
}

/// Gives the process a copy of its own of a page that it shares since a fork, as if the program had
/// written to it. Not while it may be protected: the pager's thread would wait for itself.
bool Pager::own_copy(PageNumber page) {
  constexpr auto at_once = os::Waking::at_once;
  if (uffd_.protects() && uffd_.unprotect(place(page), page_bytes, at_once) != 0) return false;
  table_[page].write_protected = false;
  return memory_.advise(place(page), page_bytes, MADV_POPULATE_WRITE) == 0;
}

/// The kernel did not move a page that the policy has named: it is gone, pinned for a device, or
/// protected.
void Pager::refused(PageNumber page, long error) {
  if (error == -EBADF) os::fail(closed_descriptor);
  // The program gave it back by a system call of its own, or moves it, of which more will be told.
  if (error == -ENOENT && !uffd_.changing()) {
    forget(page);
    return;
  }
  control_.add(Count::pinned);
  table_.refuse(page);
}

/// Finishes up to `most` of the pages that have been in limbo longest; how many.
std::size_t Pager::drain(std::size_t most) {
  if (const std::size_t done = drain_whole(); done != 0) return done;
  Leaving leaving{};
  std::size_t position = limbo_.oldest();
  for (std::size_t left = limbo_.span(); left > 0 && leaving.count < most; --left) {
    if (leaving.count > 0 && is_whole(position)) break;  // they will go as one, too
    if (limbo_.at(position) != no_page) {
      table_.prefetch(limbo_.at(position));
      leaving.positions[leaving.count++] = position;
    }
    position = (position + 1) % limbo_.capacity();
  }
  save(leaving);
  for (std::size_t i = 0; i < leaving.count; i += leaving.run(i))
    release_staged(leaving.positions[i], leaving.run(i));
  return leaving.count;
}

/// Writes a batch that lies side by side in limbo.
void Pager::write_staged(std::size_t position) {
  Leaving leaving{};
  for (; leaving.count < largest_batch; ++leaving.count)
    leaving.positions[leaving.count] = position + leaving.count;
  save(leaving);
}

/// Leaves the contents of pages where they can be found again.
void Pager::save(const Leaving& leaving) {
  read_far_copies(leaving);
  write_out(leaving);
  control_.add(Count::clean_drops, dropped_.write_protected + dropped_.compared);
  control_.add(Count::guarded_drops, dropped_.write_protected);
  control_.add(Count::zero_drops, dropped_.zeros);
  dropped_ = {};
}

/// Whether a page must be compared with its copy in the far file to know if that is as it is. Who
/// wrote to a page at once has written something else, most likely; writing it again does no harm.
bool Pager::is_compared(PageNumber page) const {
  return table_[page].stored() && !table_[page].written && !table_[page].write_protected;
}

/// Reads what the far file has of those that are compared, what lies side by side there at once.
void Pager::read_far_copies(const Leaving& leaving) {
  if (packed_.used()) {
    read_packed_copies(leaving);
    return;
  }
  const auto page = [&](std::size_t i) { return limbo_.at(leaving.positions[i]); };
  const auto slot = [&](std::size_t i) { return table_[page(i)].slot(); };
  if (far_.mapped()) {
    far_.expect_written();  // all is there that is compared now, and written in place next
    for (std::size_t i = 0; i < leaving.count; ++i)
      if (is_compared(page(i))) emulate(1);
    return;
  }
  for (std::size_t i = 0; i < leaving.count;) {
    std::size_t run = 1;
    if (is_compared(page(i))) {
      while (i + run < leaving.count && is_compared(page(i + run)) &&
             slot(i + run) == slot(i) + run)
        ++run;
      far_.read(slot(i), far_copies + i * page_bytes, run);
      emulate(run);
    }
    i += run;
  }
}

/// What `read_far_copies` has of one of these pages; anything if it is not compared.
const void* Pager::far_copy(const Leaving& leaving, std::size_t i) const {
  if (!far_.mapped()) return far_copies + i * page_bytes;
  const Slot slot = table_[limbo_.at(leaving.positions[i])].slot();
  return slot == no_slot ? nullptr : far_.at(slot);
}

/// Writes no more than needed, and what lies side by side at both ends at once.
void Pager::write_out(const Leaving& leaving) {
  if (packed_.used()) {
    write_out_packed(leaving);
    return;
  }
  std::size_t first = 0;  // of the pages that are to be written and have not been
  std::size_t run = 0;
  Slot slot = no_slot;
  const auto write = [&] {
    if (run == 0) return;
    far_.write(slot, os::pointer(staged(leaving.positions[first])), run);
    emulate(run);
    control_.add(Count::copies_out, run);
    run = 0;
  };
  for (std::size_t i = 0; i < leaving.count; ++i) {
    const std::size_t position = leaving.positions[i];
    const PageNumber page = limbo_.at(position);
    if (!needs_writing(page, os::pointer(staged(position)), far_copy(leaving, i))) continue;
    const Slot to = own_slot(table_[page]);
    if (run > 0 && (to != slot + run || position != leaving.positions[first] + run)) write();
    if (run == 0) {
      first = i;
      slot = to;
    }
    ++run;
  }
  write();
}

/// Says where a page's contents will be; true if they must be written first: to its slot, if it
/// has one, or else to another.
bool Pager::needs_writing(PageNumber page, const void* contents, const void* far_copy) {
  Page& entry = table_[page];
  if (entry.write_protected) {
    ++dropped_.write_protected;
    write_protection_.held();
    entry.write_protected = false;
    entry.state = State::far;
    return false;
  }
  if (all_zeros(contents)) {
    ++dropped_.zeros;
    drop_slot(entry);
    entry.state = State::fresh;
    budget_.managed(-1);
    return false;
  }
  entry.state = State::far;
  if (is_compared(page) && std::memcmp(far_copy, contents, page_bytes) == 0) {
    ++dropped_.compared;
    if (entry.unchanged) write_protection_.held();
    entry.unchanged = true;
    return false;
  }
  if (entry.unchanged && !entry.written) write_protection_.broken();
  entry.unchanged = false;
  if (entry.stored() && (entry.borrowed || slots_.shared(entry.slot()))) drop_slot(entry);
  return true;
}

Slot Pager::own_slot(Page& entry) {
  if (entry.slot() == no_slot) {
    const Slot slot = slots_.take();
    if (slot == no_slot) os::fail("the far file is full: all its slots are in use");
    entry.set_slot(slot);
  }
  return entry.slot();
}

/// Frees staging memory side by side, whose pages have left it.
void Pager::release_staged(std::size_t position, std::size_t count) {
  memory_.advise(staged(position), count * page_bytes, MADV_DONTNEED);
  for (std::size_t i = 0; i < count; ++i) limbo_.remove(position + i);
  budget_.release(count);
}

void Pager::drop_slot(Page& entry) {
  if (entry.stored() && !entry.borrowed) slots_.release(entry.slot());
  entry.set_slot(no_slot);
  entry.borrowed = false;
  entry.unchanged = false;
}

/// A page's contents are gone, wherever they were; what lies in its place is the caller's matter.
void Pager::forget(PageNumber page) {
  if (forget_contents(page)) budget_.release(1);
}

/// The same; whether what lies in its place is still charged.
bool Pager::forget_contents(PageNumber page) {
  Page& entry = table_[page];
  const bool in_place = entry.state == State::near;
  if (entry.state == State::limbo) release_staged(entry.position, 1);
  table_.remove(page);
  drop_slot(entry);
  entry.state = State::fresh;
  budget_.managed(-1);
  return in_place;
}

}  // namespace nearfar::tier
