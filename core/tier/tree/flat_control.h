#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "policy/offline/detector.h"
#include "tier/far/chunks.h"
#include "tier/tree/control.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

/// How a tree's memory is managed whose two tiers are both addressed directly, at a fixed place in
/// the shared memory. What is not atomic the launcher writes before the first program begins.
struct FlatControl {
  static constexpr std::size_t offset = std::size_t{496} << 10U;
  static constexpr std::uint32_t whole_share = 1'000'000;

  std::uint32_t policy_plus_one;  ///< of placement, by its position among all; 0: far is not flat
  std::uint32_t detector;  ///< policy::Detector
  std::int32_t near_node;
  std::int32_t far_node;
  std::uint64_t interval_ns;  ///< from one decision to the next
  std::uint32_t pairs;  ///< that change places in a decision, at most
  /// Of the memory that is managed, so many millionths may be near; 0: the tree's limit holds.
  std::atomic<std::uint32_t> share;
  std::atomic<std::uint64_t> near_pages;
  std::atomic<std::uint64_t> far_pages;
};
static_assert(Orders::offset + sizeof(Orders) <= FlatControl::offset);
static_assert(Chunks::Totals::offset + sizeof(Chunks::Totals) <= FlatControl::offset);
static_assert(FlatControl::offset + sizeof(FlatControl) <= Control::bytes);

[[nodiscard]] inline FlatControl& flat_of(Control& control) {
  return *reinterpret_cast<FlatControl*>(reinterpret_cast<char*>(&control) + FlatControl::offset);
}

}  // namespace nearfar::tier
