#include "tier/placement.h"

#include <algorithm>
#include <numeric>

namespace nearfar::tier {

Where Placement::learnt(std::uint64_t now, std::size_t faults) {
  const std::uint64_t gap = (now - last_) / faults;
  last_ = now;
  if (part_ != no_part) {
    if (times_ >= left_out) gaps_[times_ - left_out] = gap;
    if (++times_ == left_out + compared) end_part(now);
  } else if (next_trial_ == 0 ? ++times_ == faults_before : now >= next_trial_) {
    part_ = 0;
    times_ = 0;
    took_ = {};
  }
  return part_ == no_part ? where_ : parts[part_];
}

void Placement::starved(std::uint64_t now) {
  part_ = no_part;
  where_ = Where::anywhere;
  next_trial_ = now + latest_ns;
}

void Placement::end_part(std::uint64_t now) {
  std::sort(gaps_.begin(), gaps_.end());
  auto& took = took_[static_cast<std::size_t>(parts[part_])];
  took = std::accumulate(gaps_.begin(), gaps_.end() - longest, took);
  times_ = 0;
  if (++part_ == no_part) settle(now);
}

void Placement::settle(std::uint64_t now) {
  const auto [anywhere, beside] = took_;
  const Where faster = beside < anywhere ? Where::beside : Where::anywhere;
  const std::uint64_t loss = std::max(anywhere, beside) - std::min(anywhere, beside);
  confidence_ = faster == where_ ? std::min(2 * confidence_, most_confidence) : 1;
  where_ = faster;
  const std::uint64_t worth = std::max(loss * loss_is_worth, soonest_ns);
  next_trial_ = now + std::min(worth * confidence_, latest_ns);
}

}  // namespace nearfar::tier
