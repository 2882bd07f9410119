#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "sim/cpu/cache.h"
#include "sim/cpu/config.h"

namespace nearfar::frontend::system {

/// The caches between processors and memory, by physical address: a first level for the data of
/// each processor, and a last level that they share. Only what passes both reaches memory.
///
/// No coherence: a line that two processors write may be written back by both.
class LineFilter {
 public:
  /// Is told of each line that is read from memory, and of each that is written back to it, by the
  /// thread of the processor that caused it, one call at a time.
  using Reached = std::function<void(std::uint16_t processor, sim::cpu::Line line, bool write)>;

  LineFilter(const sim::cpu::CacheConfig& first, const sim::cpu::CacheConfig& last,
             std::size_t processors, Reached reached);

  /// The processor's own thread accesses the line.
  void access(std::uint16_t processor, sim::cpu::Line line, bool write) {
    Private& mine = private_[processor];
    const sim::cpu::Cache::Slot slot = mine.cache.find(line);
    if (slot == sim::cpu::Cache::none) return miss(processor, line, write);
    if (mine.last != line) mine.cache.use(slot);
    mine.last = line;
    if (write) mine.cache.mark(slot, true);
  }

 private:
  struct Private {
    sim::cpu::Cache cache;
    sim::cpu::Line last = 0;  ///< its latest access
  };

  void miss(std::uint16_t processor, sim::cpu::Line line, bool write);
  void look_up(std::uint16_t processor, sim::cpu::Line line, bool write);

  std::deque<Private> private_;
  std::mutex mutex_;  ///< of all below
  sim::cpu::Cache shared_;
  Reached reached_;
};

}  // namespace nearfar::frontend::system
