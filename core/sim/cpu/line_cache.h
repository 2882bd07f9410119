#pragma once

#include <cstdint>
#include <vector>

#include "sim/cpu/config.h"

namespace nearfar::sim::cpu {

/// A set-associative cache of line numbers with LRU replacement, without data or timing of
/// its own: enough to tell in which level the index table of a chase is found.
class LineCache {
 public:
  explicit LineCache(const CacheConfig& config) : ways_(config.ways), latency_(config.latency) {
    if (config.size != 0) sets_.resize(config.size / line_bytes / config.ways);
  }

  [[nodiscard]] Tick latency() const { return latency_; }

  /// Whether `line` is here; afterwards it is, as the most recently used of its set.
  bool access(std::uint64_t line) {
    if (sets_.empty()) return false;
    auto& set = sets_[line % sets_.size()];
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (set[i] != line) continue;
      for (; i + 1 < set.size(); ++i) set[i] = set[i + 1];
      set.back() = line;
      return true;
    }
    if (set.size() == ways_) set.erase(set.begin());
    set.push_back(line);
    return false;
  }

 private:
  std::uint32_t ways_;
  Tick latency_;
  std::vector<std::vector<std::uint64_t>> sets_;  ///< least recently used first
};

/// The levels a table look-up passes.
class TableCaches {
 public:
  explicit TableCaches(const Config& config)
      : l1_(config.caches.l1),
        l2_(config.caches.l2),
        l3_(config.caches.l3),
        memory_(config.caches.table_memory) {}

  /// The latency of reading the table's entry `index`, 8 bytes each.
  Tick read(std::uint64_t index) {
    const std::uint64_t line = index * 8 / line_bytes;
    if (l1_.access(line)) return l1_.latency();
    if (l2_.access(line)) return l2_.latency();
    if (l3_.access(line)) return l3_.latency();
    return memory_;
  }

 private:
  LineCache l1_, l2_, l3_;
  Tick memory_;
};

}  // namespace nearfar::sim::cpu
