#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tier/flat/flat_detector.h"
#include "tier/flat/mover.h"

namespace nearfar::tier {

/// Manages two tiers that a program addresses directly: every page stays mapped, on one or the
/// other. Now and then it is found out which pages are used, and a policy says which should change
/// places (policy/placement/placement.h).
///
/// The pager's first thread does this between faults, a little at a time. An interval has several
/// scans, then a decision, then exchanges.
class FlatTier {
 public:
  FlatTier(PagerState& state, Mover::Parts parts);

  [[nodiscard]] bool is_on() const { return state_.flat != nullptr; }
  /// Begins, when the region is registered.
  void start();
  /// Does some of what is due. True while there is more.
  [[nodiscard]] bool work();
  /// How long until something is due; below 0: nothing is.
  [[nodiscard]] int milliseconds() const;
  /// Brings all pages back to their places, before a fork; false if some stay.
  [[nodiscard]] bool bring_all_back();
  void become_child();

 private:
  enum class Phase : std::uint8_t {
    waiting,
    collecting,
    scanning,
    deciding,
    exchanging,
    probing,
  };

  /// Pages that would not move are not named for so many decisions, and for twice as many each time
  /// that most of them would not again.
  static constexpr std::uint64_t least_patience = 32;
  static constexpr std::uint64_t most_patience = 1024;

  [[nodiscard]] bool wait();
  void work_on_use();
  void end_scan();
  void begin_scan();
  void begin_round();
  void decide();
  void offer_again();
  void exchange_some();
  void count_groups() const;
  [[nodiscard]] bool trim();
  [[nodiscard]] bool is_over_limit() const;
  [[nodiscard]] bool should_trim() const;
  [[nodiscard]] unsigned slowed_by() const;
  [[nodiscard]] std::uint64_t scan_ns() const;

  PagerState& state_;
  Mover mover_;
  FlatDetector detector_;
  Phase phase_ = Phase::waiting;
  std::uint64_t due_ns_ = 0;
  FlatDetector::Plan plan_;
  std::size_t round_ = 0;  // of the scan
  unsigned scans_ = 0;  // since the last decision
  unsigned quiet_ = 0;  // scans in a row that found nothing, up to some
  bool scans_now_ = false;  // the policy wants this scan
  std::span<policy::Exchange> exchanges_;
  std::size_t decided_ = 0;
  std::size_t made_ = 0;
  std::uint64_t patience_ =
      least_patience;  // decisions until pages that would not move are named again
  std::uint64_t waited_ = 0;
  std::uint64_t offered_ = 0;  // pages, the last time
  policy::PageIndex next_trimmed_ = 0;
  policy::PageIndex passed_over_ = 0;  // pages looked at since the last that was moved
  std::uint64_t limit_ = 0;  // that pages were last moved for
  bool trims_ = true;  // until nothing more could be moved
};

}  // namespace nearfar::tier
