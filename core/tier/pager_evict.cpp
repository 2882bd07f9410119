// How pages leave: out of their place into limbo, and from there to the far file.

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "tier/pager.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

constexpr std::size_t batch = 16;  // pages moved at once cost a third of what one alone costs

alignas(page_bytes) unsigned char far_copy[page_bytes];

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

std::uint64_t Pager::low_watermark() const {
  const std::uint64_t part = budget_.limit() / 32;
  return part < batch ? batch : part;
}

bool Pager::evict_in_background() {
  if (paused() || kept_ || budget_.free() >= low_watermark()) return false;
  // Where others share the budget, only who has more than a fair part gives way.
  if (budget_.others() != 0 && budget_.own() * budget_.processes() <= budget_.limit()) return false;
  return evict() != 0;
}

/// Charges pages that will be granted, once there is room. False, and nothing is charged, if the
/// budget does not have them.
bool Pager::reserve(std::uint64_t pages) {
  for (int naps = 0; !budget_.try_charge(pages);)
    if (!more_room(naps)) return false;
  return true;
}

/// Evicts, or waits a little for another process of the tree to do so. False if neither helps.
bool Pager::more_room(int& naps) {
  constexpr int most_naps = 1000;  // others give way within a few
  if (evict() != 0) return true;
  if (budget_.others() == 0 || ++naps > most_naps) return false;
  if (!budget_.reap()) nap();
  return true;
}

/// One step of eviction: a batch into limbo, and when that is full, a batch out of it. How many
/// pages made progress.
std::size_t Pager::evict() {
  const std::size_t room = limbo_.capacity() - limbo_.span();
  const std::size_t displaced = displace(room < batch ? room : batch);
  return displaced == batch ? displaced : displaced + drain(batch);
}

/// Takes up to `most` pages, as the policy names them, into limbo; how many.
std::size_t Pager::displace(std::size_t most) {
  table_.resize(budget_.limit());
  std::size_t done = 0;
  for (std::size_t tries = table_.resident(); done < most && tries > 0;) {
    std::array<PageNumber, batch> chosen;
    const std::size_t wanted = std::min({most - done, tries, chosen.size()});
    std::size_t count = 0;
    while (count < wanted && (chosen[count] = table_.evict()) != no_page) ++count;
    if (count == 0) break;
    tries -= count;
    // In the order of addresses, so that those side by side are moved at once.
    std::sort(chosen.begin(), chosen.begin() + count);
    done += displace_all({chosen.data(), count});
  }
  return done;
}

/// Moves chosen pages into limbo, or tells the policy that they cannot leave; how many moved.
std::size_t Pager::displace_all(std::span<const PageNumber> chosen) {
  std::size_t done = 0;
  while (!chosen.empty()) {
    std::size_t run = 1;
    while (run < chosen.size() && chosen[run] == chosen[0] + run) ++run;
    const std::size_t moved = displace_run(chosen[0], run);
    done += moved;
    chosen = chosen.subspan(std::max<std::size_t>(1, moved));
  }
  return done;
}

/// Moves chosen pages that lie side by side into limbo; how many, from the first on. If none, the
/// first is taken care of.
std::size_t Pager::displace_run(PageNumber first, std::size_t count) {
  const std::size_t position = limbo_.next_position();
  const std::size_t run = std::min(count, limbo_.capacity() - position);
  os::Moved moved = uffd_.move(staged(position), place(first), run * page_bytes);
  if (moved.error == -EBUSY && moved.bytes == 0 && has_forked_) {
    // Shared since a fork: as if the program had written to it, the page gets a copy of its own.
    os::advise(place(first), page_bytes, MADV_POPULATE_WRITE);
    moved = uffd_.move(staged(position), place(first), page_bytes);
  }
  const std::size_t done = moved.bytes / page_bytes;
  for (std::size_t i = 0; i < done; ++i) {
    const auto page = static_cast<PageNumber>(first + i);
    table_[page].state = State::limbo;
    table_[page].position = static_cast<std::uint16_t>(position + i);
    limbo_.push(page);
  }
  control_.add(Count::evictions, done);
  if (done == 0) refused(first, moved.error);
  return done;
}

/// The kernel did not move a page that the policy has named: it is gone, pinned for a device, or
/// protected.
void Pager::refused(PageNumber page, long error) {
  if (error == -ENOENT) {  // the program gave it back by a system call of its own
    forget(page);
    os::advise(place(page), page_bytes, MADV_DONTNEED);
    return;
  }
  control_.add(Count::pinned);
  table_.refuse(page);
}

/// Finishes up to `most` of the pages that have been in limbo longest; how many.
std::size_t Pager::drain(std::size_t most) {
  std::size_t done = 0;
  for (; done < most; ++done) {
    const std::size_t position = limbo_.oldest();
    if (position == limbo_.capacity()) break;
    const PageNumber page = limbo_.at(position);
    write_out(page, os::pointer(staged(position)));
    release_staged(position);
  }
  return done;
}

void Pager::release_staged(std::size_t position) {
  os::advise(staged(position), page_bytes, MADV_DONTNEED);
  limbo_.remove(position);
  budget_.release(1);
}

/// Leaves a page's contents where they can be found again, writing no more than needed.
void Pager::write_out(PageNumber page, const void* contents) {
  Page& entry = table_[page];
  if (all_zeros(contents)) {
    control_.add(Count::zero_drops);
    drop_slot(entry);
    entry.state = State::fresh;
    budget_.managed(-1);
    return;
  }
  entry.state = State::far;
  if (entry.slot() != no_slot) {
    far_.read(entry.slot(), far_copy, 1);
    emulate(1);
    if (std::memcmp(far_copy, contents, page_bytes) == 0) {
      control_.add(Count::clean_drops);
      return;
    }
    if (entry.borrowed || slots_.shared(entry.slot())) drop_slot(entry);
  }
  if (entry.slot() == no_slot) {
    const Slot slot = slots_.take();
    if (slot == no_slot) os::fail("the far file is full: all its slots are in use");
    entry.set_slot(slot);
  }
  far_.write(entry.slot(), contents);
  emulate(1);
  control_.add(Count::copies_out);
}

void Pager::drop_slot(Page& entry) {
  if (entry.slot() != no_slot && !entry.borrowed) slots_.release(entry.slot());
  entry.set_slot(no_slot);
  entry.borrowed = false;
}

/// A page's contents are gone, wherever they were; what lies in its place is the caller's matter.
void Pager::forget(PageNumber page) {
  Page& entry = table_[page];
  if (entry.state == State::near) {
    budget_.release(1);
  } else if (entry.state == State::limbo) {
    release_staged(entry.position);
  }
  table_.remove(page);
  drop_slot(entry);
  entry.state = State::fresh;
  budget_.managed(-1);
}

}  // namespace nearfar::tier
