#include "tier/attach/placer.h"

#include <algorithm>

namespace nearfar::tier::attach {
namespace {

/// Of one system call: 0.3 to 7 ms each on Linux 6.18, so that pages move in batches.
constexpr std::size_t pages_a_batch = 256;
/// Decisions after which pages that would not move are tried again.
constexpr std::uint64_t decisions_a_pardon = 8;

/// What an exchange, a far read and a scan cost (docs/tiering-flat.md): a policy weighs them.
constexpr Tick exchange_cost{9'000'000};
constexpr Tick far_read_cost{279'000};
constexpr Tick scan_cost{30'000};

PageIndex capacity_of(std::uint64_t pages) {
  return static_cast<PageIndex>(std::clamp<std::uint64_t>(pages, 1, policy::most_pages));
}

}  // namespace

Placer::Placer(ProcessMemory& memory, const Options& options, Limit limit)
    : memory_(memory),
      options_(options),
      limit_(limit),
      policy_(options.policy, capacity_of(limit.of(policy::most_pages))),
      pages_(policy_, memory, options.nodes),
      exchanges_(options.pairs) {
  policy_->costs({.interval = Tick(options.interval_ns * 1000),
                  .exchange = exchange_cost,
                  .saved = far_read_cost,
                  .scan = scan_cost});
}

bool Placer::scan() {
  const std::uint64_t begun = memory_.thread_ns();
  const bool sees_writes = policy_->needs_scans();
  if (!pages_.look(sees_writes)) return false;
  found_any_ = !sees_writes;
  if (sees_writes) {
    const std::uint64_t used = pages_.tell();
    counts_.found_used += used;
    found_any_ = used != 0;
  }
  counts_.scanned += pages_.managed();
  pages_.check(policy::scans_a_decision);
  next_trimmed_ = 0;
  counts_.lost_events = memory_.lost();
  // Of a thread that has ended, the kernel tells no time.
  const std::uint64_t others = std::max(others_ns_, memory_.others_ns());
  counts_.detector_ns += memory_.thread_ns() - begun + (others - others_ns_);
  others_ns_ = others;
  note();
  return true;
}

void Placer::decide() {
  const std::uint64_t begun = memory_.thread_ns();
  policy_->resize(capacity_of(limit()));
  if (++counts_.decisions % decisions_a_pardon == 0) forgive();
  const std::size_t decided = policy_->decide(exchanges_);
  counts_.detector_ns += memory_.thread_ns() - begun;
  const std::uint64_t moving = memory_.thread_ns();
  for (std::span<const policy::Exchange> left(exchanges_.data(), decided); !left.empty();) {
    const std::size_t size = std::min(left.size(), pages_a_batch);
    exchange(left.first(size));
    left = left.subspan(size);
  }
  counts_.mover_ns += memory_.thread_ns() - moving;
  note();
}

void Placer::exchange(std::span<const policy::Exchange> exchanges) {
  leaving_.clear();
  for (const policy::Exchange& one : exchanges) {
    // A near page leaves only for one that can come.
    const bool comes = one.promote == policy::no_page || pages_.can_leave(one.promote, Tier::far);
    if (comes && pages_.can_leave(one.demote, Tier::near)) leaving_.push_back(one.demote);
  }
  make_room(exchanges);
  if (!leaving_.empty()) counts_.demoted += pages_.move(leaving_, Tier::far, counts_.refused);
  promote(exchanges);
}

/// A huge page may not fit where the policy sees room for the one page of it that it names: then
/// unused pages leave for it, too.
void Placer::make_room(std::span<const policy::Exchange> exchanges) {
  const std::size_t asked = leaving_.size();
  std::uint64_t free = limit() - std::min(limit(), pages_.near());
  for (const PageIndex page : leaving_) free += pages_.moved_with(page);
  std::ranges::sort(leaving_);
  for (const policy::Exchange& one : exchanges) {
    if (!pages_.can_leave(one.promote, Tier::far)) continue;
    const std::uint64_t size = pages_.moved_with(one.promote);
    for (PageIndex page = 0; size > 1 && free < size && page < pages_.end(); ++page) {
      if (!pages_.can_leave(page, Tier::near) || pages_.was_used(page)) continue;
      if (std::binary_search(leaving_.begin(), leaving_.begin() + asked, page)) continue;
      leaving_.push_back(page);
      free += pages_.moved_with(page);
    }
    if (free < size) leaving_.resize(asked);  // it would not come all the same
    return;
  }
}

void Placer::promote(std::span<const policy::Exchange> exchanges) {
  const std::uint64_t most = limit();
  std::uint64_t room = most - std::min(most, pages_.near());
  leaving_.clear();
  for (const policy::Exchange& one : exchanges) {
    if (!pages_.can_leave(one.promote, Tier::far)) continue;
    const std::uint64_t size = pages_.moved_with(one.promote);
    if (size > room) continue;
    room -= size;
    leaving_.push_back(one.promote);
  }
  if (!leaving_.empty()) counts_.promoted += pages_.move(leaving_, Tier::near, counts_.refused);
}

bool Placer::trim() {
  if (!is_over_limit()) return false;
  const std::uint64_t begun = memory_.thread_ns();
  // First once round the pages that were not used of late, then once round the others.
  const PageIndex end = pages_.end();
  leaving_.clear();
  if (next_trimmed_ < end) gather(next_trimmed_, false);
  if (leaving_.empty() && next_trimmed_ >= end) {
    PageIndex used = next_trimmed_ - end;
    gather(used, true);
    next_trimmed_ = used + end;
  }
  if (!leaving_.empty()) counts_.demoted += pages_.move(leaving_, Tier::far, counts_.refused);
  counts_.mover_ns += memory_.thread_ns() - begun;
  note();
  return !leaving_.empty() && is_over_limit();
}

/// The next near pages that can leave, at most as many as should.
void Placer::gather(PageIndex& next, bool used) {
  const PageIndex end = pages_.end();
  std::uint64_t over = pages_.near() - limit();
  for (; next < end && over > 0 && leaving_.size() < pages_a_batch; ++next) {
    if (!pages_.can_leave(next, Tier::near) || pages_.was_used(next) != used) continue;
    leaving_.push_back(next);
    over -= std::min(over, pages_.moved_with(next));
  }
}

void Placer::set_limit(Limit limit) {
  if (limit == limit_) return;
  limit_ = limit;
  forgive();
  policy_->resize(capacity_of(this->limit()));
}

/// What would not move is tried again.
void Placer::forgive() {
  pages_.forgive();
  next_trimmed_ = 0;
}

void Placer::note() {
  counts_.near = pages_.near();
  counts_.far = pages_.far();
  counts_.near_peak = std::max(counts_.near_peak, counts_.near);
  counts_.far_peak = std::max(counts_.far_peak, counts_.far);
  counts_.managed_peak = std::max(counts_.managed_peak, pages_.managed());
  counts_.first_touches = pages_.came();
}

}  // namespace nearfar::tier::attach
