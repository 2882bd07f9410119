#include "tier/flat/flat_pages.h"

#include <algorithm>

#include "tier/os/system.h"

namespace nearfar::tier {

void FlatPages::keep_in(void* records) {
  placement_.keep_in(records);
  const std::size_t policy_bytes = placement_.bytes_per_page() * most_pages_;
  records_ = os::pointer<Record>(os::place(records) + policy_bytes);
  placement_.keep_marks_in(records_ + most_pages_);
}

/// Of a share, pages that are about to come count as well.
std::uint64_t FlatPages::limit_with(std::uint64_t coming) const {
  const std::uint64_t share = flat_.share.load(std::memory_order_relaxed);
  if (share == 0) return control_.limit_pages.load(std::memory_order_relaxed);
  const std::uint64_t all = flat_.near_pages.load() + flat_.far_pages.load() + coming;
  return all * share / FlatControl::whole_share;
}

bool FlatPages::take_near(std::uint64_t pages) {
  std::uint64_t near = flat_.near_pages.load();
  do {
    if (near + pages > limit_with(0)) return false;
  } while (!flat_.near_pages.compare_exchange_weak(near, near + pages));
  member_->flat_near.fetch_add(static_cast<std::uint32_t>(pages));
  control_.raise(Count::near_peak, near + pages);
  return true;
}

void FlatPages::give_up_near(std::uint64_t pages) {
  member_->flat_near.fetch_sub(static_cast<std::uint32_t>(pages));
  flat_.near_pages.fetch_sub(pages);
}

policy::Tier FlatPages::expect(Index first, std::size_t count) {
  end_expectation();
  if (forking_) return Tier::far;
  std::uint64_t near = flat_.near_pages.load();
  do {
    const std::uint64_t most = limit_with(count);
    const auto free = static_cast<Index>(
        std::min<std::uint64_t>(near < most ? most - near : 0, policy::most_pages));
    if (free < count || placement_.place(first, free) == Tier::far) return Tier::far;
  } while (!flat_.near_pages.compare_exchange_weak(near, near + count));
  member_->flat_near.fetch_add(static_cast<std::uint32_t>(count));
  control_.raise(Count::near_peak, near + count);
  expected_near_ = count;
  return Tier::near;
}

void FlatPages::end_expectation() {
  give_up_near(expected_near_);
  expected_near_ = 0;
}

void FlatPages::count_far(std::int32_t change) {
  const auto total = static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
  control_.raise(Count::slots_peak, flat_.far_pages.fetch_add(total) + total);
  member_->flat_far.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
}

void FlatPages::fault(Index page) {
  Record& record = records_[page];
  if (record.there) return;
  const bool near = expected_near_ != 0;
  if (near) --expected_near_;
  record = {};
  record.there = true;
  record.far = !near;
  record.left_out = true;
  end_ = std::max(end_, page + 1);
  if (!near) count_far(1);
  placement_.placed(page, tier(page));
}

void FlatPages::second_chance(Index page) {
  if (returning_) return;
  constexpr std::uint64_t parts = 1U << delay_bits;
  Record& record = records_[page];
  record.touched = true;
  if (memory_ != nullptr) {
    const std::uint64_t part = (memory_->now_ns() - probed_since_ns_) * parts / round_ns_;
    record.delay = static_cast<std::uint16_t>(std::min(part, parts - 1));
  }
  control_.add(Count::probe_faults);
}

void FlatPages::released(Index page) {
  if (!is_there(page)) return;
  readmit(page);
  if (tier(page) == Tier::near) {
    give_up_near();
  } else {
    count_far(-1);
  }
  records_[page] = {};
  placement_.released(page);
}

void FlatPages::moved(Index from, Index to) {
  released(to);
  if (!is_there(from)) return;
  readmit(from);
  records_[to] = records_[from];
  records_[from] = {};
  end_ = std::max(end_, to + 1);
  placement_.moved(from, to);
}

bool FlatPages::is_group_near(Index first) const {
  for (Index page = first; page < first + policy::GroupedPlacement::group; ++page)
    if (is_there(page) && tier(page) == Tier::far) return false;
  return true;
}

void FlatPages::set_tier(Index page, Tier tier) {
  if (tier == this->tier(page)) return;
  put(page, tier);
  control_.add(tier == Tier::near ? Count::promoted : Count::demoted);
}

void FlatPages::exchange(Index promoted, Index demoted) {
  readmit(promoted);
  readmit(demoted);
  records_[promoted].far = false;
  records_[demoted].far = true;
  placement_.placed(demoted, Tier::far);
  placement_.placed(promoted, Tier::near);
  control_.add(Count::promoted);
  control_.add(Count::demoted);
}

void FlatPages::correct(Index page, Tier found) {
  if (found == tier(page)) return;
  if (found == Tier::near) {
    flat_.near_pages.fetch_add(1);
    member_->flat_near.fetch_add(1);
  }
  put(page, found);
}

/// The other tier than before. A place near has been counted.
void FlatPages::put(Index page, Tier tier) {
  readmit(page);
  if (tier == Tier::far) give_up_near();
  records_[page].far = tier == Tier::far;
  count_far(tier == Tier::far ? 1 : -1);
  placement_.placed(page, tier);
}

void FlatPages::withdraw(Index page) {
  if (!is_named(page)) return;
  records_[page].withdrawn = true;
  ++withdrawn_;
  withdrawn_near_ += tier(page) == Tier::near ? 1 : 0;
  placement_.released(page);
}

void FlatPages::readmit(Index page) {
  if (!records_[page].withdrawn) return;
  records_[page].withdrawn = false;
  --withdrawn_;
  withdrawn_near_ -= tier(page) == Tier::near ? 1 : 0;
  placement_.placed(page, tier(page));
}

void FlatPages::readmit_all() {
  for (Index page = 0; page < end_; ++page) readmit(page);
}

void FlatPages::become_child(Member& member) {
  for (Index page = 0; page < end_; ++page) {
    if (!records_[page].there) continue;
    records_[page] = {};
    placement_.released(page);
  }
  member_ = &member;
  expected_near_ = 0;
  withdrawn_ = withdrawn_near_ = 0;
  forking_ = has_forked_ = false;
  end_ = 0;
}

}  // namespace nearfar::tier
