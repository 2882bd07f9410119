#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "policy/offline/detector.h"
#include "tier/flat/mover.h"

namespace nearfar::tier {

/// Finds out which pages a program uses, and tells the policy.
///
/// Where the kernel notes uses, a scan reads and clears what it has noted of all pages: of writes
/// (Linux 6.7), or of reads as well (7.3). Else some pages at a time are taken out of their place
/// for a while: one that is touched comes back at once and was used, the others were not.
///
/// Each call does some of a step, so that faults need not wait, and returns true while there is
/// more to be done.
class FlatDetector {
 public:
  FlatDetector(PagerState& state, Mover& mover, Eviction& eviction)
      : state_(state), mover_(mover), eviction_(eviction) {}

  void start(policy::Detector kind) { kind_ = kind; }
  [[nodiscard]] bool probes() const { return kind_ == policy::Detector::probe; }

  /// How many of so many pages a scan of `scan_ns` probes in all, and how many are out at once.
  struct Plan {
    std::size_t rounds = 1;
    std::size_t pages = 0;
  };
  [[nodiscard]] Plan plan(std::uint64_t pages, std::uint64_t scan_ns) const;

  /// Takes the next pages out, for so long.
  void begin_probes(std::size_t pages, std::uint64_t round_ns);
  [[nodiscard]] bool probe_some();
  /// Brings them back and tells the policy which were touched.
  [[nodiscard]] bool collect_some();
  /// Tells the policy what the kernel has noted.
  [[nodiscard]] bool scan_some();
  /// Looks into which tiers the kernel has put some pages, as after a write to one that was shared.
  void check_some();

  /// Finding pages in use has taken so much more of a processor.
  void spent(std::uint64_t ns) { spent_ns_ += ns; }
  /// Pages that were found used since the last call.
  [[nodiscard]] std::uint64_t take_found() { return std::exchange(found_, 0); }
  /// All is out of the way, as in a forked child.
  void forget();

 private:
  static constexpr std::size_t pages_scanned = 8 * PageTable::group;  // in a step
  using Used = std::array<bool, pages_scanned>;

  [[nodiscard]] bool is_of_writes() const { return kind_ == policy::Detector::dirty; }
  /// Of probing, out and back.
  [[nodiscard]] std::uint64_t ns_a_page() const {
    constexpr std::uint64_t least = 1000;
    return looked_ == 0 ? least : std::max(least, spent_ns_ / looked_);
  }
  [[nodiscard]] std::size_t take_run(PageNumber first, std::size_t most);
  [[nodiscard]] std::size_t collect_run(std::size_t first);
  void scan(Pages pages);
  void tell_group(PageNumber group, std::span<const bool, PageTable::group> used);
  /// Where the kernel has put pages of a group.
  template <class Wanted>
  void check_group(PageNumber group, const Wanted& wanted);
  void rearm_group(PageNumber group);
  void tell(std::span<const policy::Scan> scans);

  PagerState& state_;
  Mover& mover_;
  Eviction& eviction_;
  policy::Detector kind_ = policy::Detector::probe;
  std::array<PageNumber, Limbo::most> probed_{};
  std::size_t probes_ = 0;
  std::size_t collected_ = 0;
  std::size_t wanted_ = 0;
  PageNumber next_probed_ = 0;
  PageNumber next_scanned_ = 0;
  PageNumber next_checked_ = 0;
  std::uint64_t found_ = 0;
  std::uint64_t spent_ns_ = 0;  // on so many pages, as far as it is remembered
  std::uint64_t looked_ = 0;
};

}  // namespace nearfar::tier
