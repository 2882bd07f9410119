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
    begin_trial(now);
  }
  return now_at();
}

void Placement::starved(std::uint64_t now) {
  if (now_at() == Where::anywhere) return;  // nothing better is known
  out_until_[static_cast<std::size_t>(now_at())] = now + latest_ns;
  begin_trial(now);
}

void Placement::begin_trial(std::uint64_t now) {
  took_ = {};
  begin_part(0, now);
}

void Placement::begin_part(std::size_t part, std::uint64_t now) {
  times_ = 0;
  part_ = part;
  while (part_ != no_part && is_out(parts[part_], now)) ++part_;
  if (part_ == no_part) settle(now);
}

void Placement::end_part(std::uint64_t now) {
  std::sort(gaps_.begin(), gaps_.end());
  auto& took = took_[static_cast<std::size_t>(parts[part_])];
  took = std::accumulate(gaps_.begin(), gaps_.end() - longest, took);
  begin_part(part_ + 1, now);
}

void Placement::settle(std::uint64_t now) {
  std::size_t fastest = 0;
  for (std::size_t way = 1; way < ways; ++way)
    if (took_[way] != 0 && took_[way] < took_[fastest]) fastest = way;
  std::uint64_t loss = 0;
  for (const std::uint64_t took : took_) loss += took == 0 ? 0 : took - took_[fastest];
  const auto found = static_cast<Where>(fastest);
  confidence_ = found == where_ ? std::min(2 * confidence_, most_confidence) : 1;
  where_ = found;
  const std::uint64_t worth = std::max(loss * loss_is_worth, soonest_ns);
  next_trial_ = now + std::min(worth * confidence_, latest_ns);
}

}  // namespace nearfar::tier
