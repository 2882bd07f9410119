#include "frontend/system/line_filter.h"

#include <utility>

namespace nearfar::frontend::system {

using sim::cpu::Cache;
using sim::cpu::Line;

LineFilter::LineFilter(const sim::cpu::CacheConfig& first, const sim::cpu::CacheConfig& last,
                       std::size_t processors, Reached reached)
    : shared_(last, 1), reached_(std::move(reached)) {
  for (std::size_t i = 0; i < processors; ++i) private_.push_back({.cache = Cache(first, 1)});
}

void LineFilter::miss(std::uint16_t processor, Line line, bool write) {
  Private& mine = private_[processor];
  const auto victim = mine.cache.insert(line, write);
  mine.last = line;
  const std::lock_guard lock(mutex_);
  if (victim && victim->dirty) look_up(processor, victim->line, true);
  look_up(processor, line, false);
}

void LineFilter::look_up(std::uint16_t processor, Line line, bool write) {
  if (const Cache::Slot slot = shared_.find(line); slot != Cache::none) {
    shared_.use(slot);
    if (write) shared_.mark(slot, true);
    return;
  }
  // A line that is written back whole needs no read.
  if (!write) reached_(processor, line, false);
  const auto victim = shared_.insert(line, write);
  if (victim && victim->dirty) reached_(processor, victim->line, true);
}

}  // namespace nearfar::frontend::system
