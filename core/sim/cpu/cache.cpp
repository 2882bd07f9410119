#include "sim/cpu/cache.h"

#include <algorithm>
#include <bit>

namespace nearfar::sim::cpu {

Cache::Cache(const CacheConfig& config, std::uint64_t seed)
    : ways_(config.ways),
      way_bits_(std::has_single_bit(ways_) ? static_cast<std::uint32_t>(std::countr_zero(ways_))
                                           : 32),
      slices_(config.slices),
      sets_of_slice_(config.size / line_bytes / config.ways / config.slices),
      set_mask_((sets_of_slice_ & (sets_of_slice_ - 1)) == 0 ? sets_of_slice_ - 1 : 0),
      tags_(sets() * ways_),
      free_(tags_.size()),
      replacement_(config.policy, sets(), ways_, seed) {}

bool Cache::has_room(Line line) const {
  if (free_ == 0) return false;
  const auto first = tags_.begin() + static_cast<std::ptrdiff_t>(set_of(line) * ways_);
  return std::find(first, first + ways_, std::uint64_t{0}) != first + ways_;
}

std::optional<Cache::Victim> Cache::insert(Line line, bool dirty) {
  const std::uint64_t set = set_of(line);
  const std::uint64_t tag = tag_of(line) | (dirty ? dirty_bit : 0);
  const auto first = tags_.begin() + static_cast<std::ptrdiff_t>(set * ways_);
  if (free_ != 0) {
    const auto free = std::find(first, first + ways_, std::uint64_t{0});
    if (free != first + ways_) {
      *free = tag;
      --free_;
      replacement_.filled(set, static_cast<std::uint32_t>(free - first));
      return std::nullopt;
    }
  }
  const std::uint32_t way = replacement_.victim(set);
  const std::uint64_t left = first[way];
  first[way] = tag;
  replacement_.filled(set, way);
  return Victim{.line = (left >> 1) - 1, .dirty = (left & dirty_bit) != 0};
}

/// Neighbouring lines go to different slices, by a hash of all address bits that is linear over
/// GF(2) up to the last step, which spreads it over any number of slices. So are the hashes of
/// Intel's servers: over a power of two they are linear, else a base sequence of 16 to 16384
/// slices repeats with its order permuted by an exclusive-or of higher address bits (McCalpin,
/// "Mapping Addresses to L3/CHA Slices in Intel Processors", TACC TR-2021-03). The masks of this
/// one are its own.
std::uint64_t Cache::slice_of(Line line) const {
  std::uint64_t hash = line;
  for (int round = 0; round < 3; ++round) {
    hash ^= hash << 13;
    hash ^= hash >> 7;
    hash ^= hash << 17;
  }
  return ((hash >> 32) * slices_) >> 32;
}

std::uint64_t Cache::lines() const {
  return tags_.size() -
         static_cast<std::uint64_t>(std::count(tags_.begin(), tags_.end(), std::uint64_t{0}));
}

std::uint64_t Cache::dirty_lines() const {
  return static_cast<std::uint64_t>(
      std::count_if(tags_.begin(), tags_.end(), [](auto tag) { return (tag & dirty_bit) != 0; }));
}

}  // namespace nearfar::sim::cpu
