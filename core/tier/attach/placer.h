#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/offline/owned.h"
#include "tier/attach/page_tiers.h"
#include "tier/attach/process_memory.h"

namespace nearfar::tier::attach {

/// What has been done, in pages, and the processor time that it took.
struct Counts {
  std::uint64_t near = 0;
  std::uint64_t near_peak = 0;
  std::uint64_t far = 0;
  std::uint64_t far_peak = 0;
  std::uint64_t managed_peak = 0;
  std::uint64_t first_touches = 0;
  std::uint64_t promoted = 0;
  std::uint64_t demoted = 0;
  std::uint64_t refused = 0;
  std::uint64_t scanned = 0;
  std::uint64_t found_used = 0;
  std::uint64_t decisions = 0;
  std::uint64_t lost_events = 0;  ///< of the kernel's, about pages in use
  std::uint64_t detector_ns = 0;
  std::uint64_t mover_ns = 0;
};

/// How much may be near: so many pages, or so many millionths of all that are managed.
struct Limit {
  static constexpr std::uint64_t whole_share = 1'000'000;

  std::uint64_t pages = 0;
  std::uint64_t share = 0;  ///< 0: `pages` holds

  [[nodiscard]] std::uint64_t of(std::uint64_t managed) const {
    return share == 0 ? pages : managed * share / whole_share;
  }
  friend bool operator==(const Limit&, const Limit&) = default;
};

/// Exchanges pages of a running process between two nodes, from outside: the steps, without a clock
/// and a thread.
///
/// A page that moves needs a free frame on the other node, so that pages are demoted before others
/// are promoted, and never more of these than there is room for. What the process touches first
/// lies where the kernel puts it: above the limit, pages are demoted after the next look.
class Placer {
 public:
  struct Options {
    std::string policy;  ///< of placement
    Nodes nodes;
    std::uint64_t interval_ns = 0;  ///< between decisions
    std::uint32_t pairs = 0;  ///< that change places in a decision, at most
  };

  /// Throws InputError for a policy that there is not.
  Placer(ProcessMemory& memory, const Options& options, Limit limit);

  /// Whether the policy learns of pages in use; the kernel must note writes then.
  [[nodiscard]] bool needs_writes() const { return policy_->needs_scans(); }
  /// Looks at the memory once. False if that is no more possible.
  bool scan();
  /// Has the policy say what should change places, and moves that.
  void decide();
  /// Demotes some pages while too many are near, those not written of late first. True while there
  /// is more to do.
  bool trim();
  void set_limit(Limit limit);

  [[nodiscard]] bool is_over_limit() const { return pages_.near() > limit(); }
  /// Whether the last scan has found pages used, or was none.
  [[nodiscard]] bool found_any() const { return found_any_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  [[nodiscard]] std::uint64_t limit() const { return limit_.of(pages_.managed()); }
  void exchange(std::span<const policy::Exchange> exchanges);
  void make_room(std::span<const policy::Exchange> exchanges);
  void promote(std::span<const policy::Exchange> exchanges);
  void gather(PageIndex& next, bool used);
  void forgive();
  void note();

  ProcessMemory& memory_;
  Options options_;
  Limit limit_;
  policy::OwnedPlacement policy_;
  PageTiers pages_;
  std::vector<policy::Exchange> exchanges_;
  std::vector<PageIndex> leaving_;  // of one step
  PageIndex next_trimmed_ = 0;
  bool found_any_ = true;
  std::uint64_t others_ns_ = 0;  // counted so far
  Counts counts_;
};

}  // namespace nearfar::tier::attach
