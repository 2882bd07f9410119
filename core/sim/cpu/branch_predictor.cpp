#include "sim/cpu/branch_predictor.h"

namespace nearfar::sim::cpu {
namespace {

constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15u;
constexpr unsigned bits_each = 2;  ///< of history, a decision
/// Decisions that the tables look back: none, 4, 12, 32.
constexpr std::array<std::uint64_t, 4> history_masks = {0, (std::uint64_t{1} << 4 * bits_each) - 1,
                                                        (std::uint64_t{1} << 12 * bits_each) - 1,
                                                        ~std::uint64_t{0}};
constexpr std::uint8_t most_trust = 3;

}  // namespace

BranchPredictor::BranchPredictor(std::uint32_t targets)
    : entries_(std::size_t{targets} * tables), mask_(targets - 1) {}

bool BranchPredictor::arrive(std::uint64_t pc) {
  switch (last_.end) {
    case BlockEnd::next:
      return pc == last_.next;
    case BlockEnd::jump:
      return pc == last_.target;
    case BlockEnd::call:
      returns_[depth_++ % calls] = last_.next;
      return pc == last_.target;
    case BlockEnd::back:
      return returns_[--depth_ % calls] == pc;
    case BlockEnd::indirect_call:
      returns_[depth_++ % calls] = last_.next;
      return learn(pc);
    default:
      return learn(pc);
  }
}

bool BranchPredictor::learn(std::uint64_t pc) {
  const auto target = static_cast<std::uint32_t>(pc);
  // The longest history that knows the block is believed.
  std::size_t next = tables;
  Entry* believed = nullptr;
  while (next > 0 && believed == nullptr) {
    const Place place = place_in(--next);
    if (place.entry->used && place.entry->tag == place.tag) believed = place.entry;
  }
  guess_ = believed == nullptr ? static_cast<std::uint32_t>(last_.next) : believed->target;
  const bool right = guess_ == target;
  if (believed != nullptr) update(*believed, target);
  if (!right) remember(believed == nullptr ? 0 : next + 1, target);
  history_ = history_ << bits_each ^ pc * multiplier >> (64 - bits_each);
  return right;
}

BranchPredictor::Place BranchPredictor::place_in(std::size_t table) {
  // Multiplied, blocks and histories that differ in few bits come far apart.
  const std::uint64_t past = (history_ & history_masks[table]) * multiplier;
  const std::uint64_t key = (last_.pc ^ past) * multiplier;
  return {.entry = &entries_[table * (mask_ + 1) + (key >> 40 & mask_)],
          .tag = static_cast<std::uint16_t>(key >> 24)};
}

void BranchPredictor::update(Entry& entry, std::uint32_t target) {
  if (entry.target == target) {
    if (entry.trust < most_trust) ++entry.trust;
  } else if (entry.trust > 0) {
    --entry.trust;
  } else {
    entry.target = target;
  }
}

/// In the first of the tables from there on whose place is not trusted; if there is none, all are
/// trusted less.
void BranchPredictor::remember(std::size_t first, std::uint32_t target) {
  for (std::size_t table = first; table < tables; ++table) {
    const Place place = place_in(table);
    if (place.entry->used && place.entry->trust > 0) continue;
    *place.entry = {.target = target, .tag = place.tag, .trust = 0, .used = true};
    return;
  }
  for (std::size_t table = first; table < tables; ++table) --place_in(table).entry->trust;
}

}  // namespace nearfar::sim::cpu
