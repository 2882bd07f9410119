#include "sim/nvdimm/wear.h"

#include <algorithm>
#include <utility>

#include "base/rng.h"

namespace nearfar::sim::nvdimm {

WearLeveler::WearLeveler(const WearConfig& config, Bytes capacity, std::uint64_t seed)
    : config_(config),
      blocks_(capacity / config.block),
      seed_(seed),
      writes_left_(blocks_),
      moved_to_(blocks_) {
  for (std::uint64_t i = 0; i < config.spares; ++i) free_.push_back(blocks_ + i);
}

std::uint32_t WearLeveler::threshold(std::uint64_t block, std::uint64_t epoch) const {
  Rng rng(seed_ ^ (block * 0xd1342543de82ef95u) ^ (epoch << 48));
  const double factor = 1.0 + config_.spread * (2.0 * rng.uniform() - 1.0);
  const auto writes = static_cast<std::uint32_t>(static_cast<double>(config_.writes) * factor);
  return writes == 0 ? 1 : writes;
}

std::optional<WearLeveler::Migration> WearLeveler::count_write(Address device) {
  if (config_.writes == 0) return std::nullopt;
  const std::uint64_t block = device.block(config_.block);
  return has_to_move(block) ? begin(block) : std::nullopt;
}

/// Counts a write to the block.
bool WearLeveler::has_to_move(std::uint64_t block) {
  std::uint32_t& left = writes_left_.at(block);
  if (left == 0) {
    // Half of the way may be behind it: the LENS series saw its first stall after 10,731
    // writes, and streams over fresh memory show no stalls at all.
    const std::uint32_t first = threshold(block, 0);
    left = first - static_cast<std::uint32_t>(Rng(seed_ + block).below(first / 2 + 1));
  }
  if (--left != 0) return false;
  left = threshold(block, ++moves_);
  return true;
}

std::optional<WearLeveler::Migration> WearLeveler::begin(std::uint64_t block) {
  const bool already = std::ranges::any_of(
      moving_, [&](std::uint32_t other) { return migrations_[other].block == block; });
  if (already || free_.empty()) return std::nullopt;
  const std::uint64_t from = place_of(block);
  const std::uint64_t to = free_.front();
  free_.pop_front();
  free_.push_back(from);
  moved_to_.at(block) = static_cast<std::uint32_t>(to + 1);
  ++migrations_begun_;
  ++moves_of_[block];
  moving_.push_back(migrations_.take({.block = block, .waiting = {}}));
  return Migration{.number = moving_.back(),
                   .block = block,
                   .from = Address(from * config_.block),
                   .to = Address(to * config_.block)};
}

bool WearLeveler::waits(Address device, Waiter waiter) {
  for (const std::uint32_t migration : moving_) {
    if (migrations_[migration].block != device.block(config_.block)) continue;
    migrations_[migration].waiting.push_back(waiter);
    return true;
  }
  return false;
}

std::vector<WearLeveler::Waiter> WearLeveler::finish(std::uint32_t migration) {
  std::vector<Waiter> waiting = std::move(migrations_[migration].waiting);
  std::erase(moving_, migration);
  migrations_.give_back(migration);
  return waiting;
}

}  // namespace nearfar::sim::nvdimm
