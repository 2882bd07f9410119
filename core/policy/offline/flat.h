#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/tick.h"
#include "policy/offline/detector.h"
#include "policy/offline/touches.h"

namespace nearfar::policy {

/// What far memory, moving pages and learning of their use cost.
struct FlatCosts {
  Tick far_read{};   ///< more than a read of near memory
  Tick far_write{};  ///< more than a write to near memory
  Tick exchange{};   ///< of a pair; a page that moves alone costs half of it
  Tick scan{};       ///< of one page
  Tick found{};      ///< of each page that the detector tells of by a fault, or of each sample
};

struct FlatOptions {
  std::string policy{};
  PageIndex near = 0;       ///< pages that near memory holds
  std::uint64_t pairs = 0;  ///< that change places in a decision, at most
  Detector detector = Detector::dirty;
  std::uint64_t sample = 1;  ///< a detector that samples takes one of so many accesses
  FlatCosts costs{};
};

/// What happened from one decision to the next.
struct FlatInterval {
  std::uint64_t near_reads = 0;
  std::uint64_t near_writes = 0;
  std::uint64_t far_reads = 0;
  std::uint64_t far_writes = 0;
  std::uint64_t promoted = 0;
  std::uint64_t demoted = 0;
  std::uint64_t scanned = 0;  ///< pages
  std::uint64_t told = 0;     ///< pages found by a fault, or samples

  FlatInterval& operator+=(const FlatInterval& other);
  friend bool operator==(const FlatInterval&, const FlatInterval&) = default;
};

struct FlatResult {
  std::vector<FlatInterval> intervals;
  FlatInterval total{};
  Tick extra{};  ///< the time beyond that of the same accesses with all pages near
};

/// All touches with the pages where a placement policy puts them, on two tiers that are both
/// addressed directly. Throws InputError for a policy or a number of pages that is none, and where
/// the policy names an exchange that cannot be made. `ask`, if given, is called now and then, and
/// may throw to end it.
[[nodiscard]] FlatResult replay_flat(const Touches& touches, const FlatOptions& options,
                                     const std::function<void()>& ask = {});

/// The extra time of all accesses with every page far.
[[nodiscard]] Tick all_far(const Touches& touches, const FlatCosts& costs);

}  // namespace nearfar::policy
