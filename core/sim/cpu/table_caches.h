#pragma once

#include <cstdint>
#include <vector>

#include "sim/cpu/cache.h"
#include "sim/cpu/config.h"

namespace nearfar::sim::cpu {

/// The levels that a look-up in a chase's index table passes: only in which of them the entry is
/// found, each with LRU replacement and in one slice.
class TableCaches {
 public:
  explicit TableCaches(const Config& config) : memory_(config.caches.tables.apart) {
    for (const CacheConfig& level : {config.caches.l1, config.caches.l2, config.caches.l3}) {
      if (level.size != 0) levels_.emplace_back(level);
    }
  }

  /// The latency of reading the table's entry `index`, 8 bytes each.
  Tick read(std::uint64_t index) {
    const Line line = index * 8 / line_bytes;
    for (Level& level : levels_) {
      if (level.access(line)) return level.latency;
    }
    return memory_;
  }

 private:
  struct Level {
    explicit Level(CacheConfig config) : latency(config.latency), lines(as_lru(config), 0) {}

    static CacheConfig as_lru(CacheConfig config) {
      config.policy = Policy::lru;
      config.slices = 1;
      return config;
    }

    /// Whether `line` is here; afterwards it is.
    bool access(Line line) {
      const Cache::Slot slot = lines.find(line);
      if (slot == Cache::none) {
        lines.insert(line, false);
        return false;
      }
      lines.use(slot);
      return true;
    }

    Tick latency;
    Cache lines;
  };

  std::vector<Level> levels_;  ///< nearest first; a core may have none
  Tick memory_;
};

}  // namespace nearfar::sim::cpu
