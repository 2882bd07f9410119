#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/tick.h"
#include "policy/offline/detector.h"
#include "policy/page.h"
#include "policy/placement/placement.h"

namespace nearfar::frontend {

/// Decides in which tier the pages of a program lie: a policy of one of the families in
/// core/policy, told what its family is told.
class Placer {
 public:
  struct Limits {
    policy::PageIndex near_pages = 0;
    Tick interval{};          ///< between decisions
    std::uint64_t pairs = 0;  ///< exchanged in a decision, at most
    policy::Detector detector = policy::Detector::accessed;  ///< of a placement policy
  };
  /// Pages that change places. A page is not copied in if it is new, nor out if its far copy is
  /// still good.
  struct Move {
    policy::Exchange pages;
    bool copies_in = true;
    bool copies_out = true;
    friend bool operator==(const Move&, const Move&) = default;
  };

  Placer() = default;
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;
  virtual ~Placer() = default;

  /// Whether near memory is a cache: pages have a frame in far memory for good, and one in near
  /// memory while they are used. A page that is not near then faults.
  [[nodiscard]] virtual bool is_cache() const { return false; }
  /// Whether a touch of the page is a fault.
  [[nodiscard]] virtual bool faults(policy::PageIndex) const { return false; }

  /// A page without a frame is touched: where it goes. `near_free` more fit into near memory.
  virtual policy::Tier place(policy::PageIndex page, policy::PageIndex near_free) = 0;
  /// The page lies there now.
  virtual void placed(policy::PageIndex, policy::Tier) {}
  virtual void released(policy::PageIndex page) = 0;

  /// Whether touched() has to be called.
  [[nodiscard]] virtual bool needs_touches() const { return false; }
  /// The program accesses the page, in its caches or not. Appends the moves that follow, which are
  /// made at once.
  virtual void touched(policy::PageIndex, bool /*write*/, Tick /*now*/, std::vector<Move>&) {}
  /// Memory is asked for a line of the page. Appends as touched().
  virtual void asked(policy::PageIndex, bool /*write*/, Tick /*now*/, std::vector<Move>&) {}

  /// The time that the processor has spent on finding out which pages are used, since it was asked
  /// last.
  [[nodiscard]] virtual Tick take_time() { return {}; }

  /// What it counted since it was made or last forgot, as lines of a report.
  virtual void report(std::ostream&) const {}
  virtual void forget_counts() {}
};

/// These throw InputError for a policy that is not known and a near memory of 0 pages.

/// Near memory is a cache of far pages: what leaves is a replacement policy's choice.
[[nodiscard]] std::unique_ptr<Placer> make_cached(const std::string& policy,
                                                  const Placer::Limits& limits);
/// Both tiers are addressed directly: a placement policy exchanges pages between them.
[[nodiscard]] std::unique_ptr<Placer> make_flat(const std::string& policy,
                                                const Placer::Limits& limits);
/// A policy that the caller has made, and that must outlive the placer.
[[nodiscard]] std::unique_ptr<Placer> make_flat(policy::Placement& policy,
                                                const Placer::Limits& limits);
/// The same, by an oracle that sees every access to memory.
[[nodiscard]] std::unique_ptr<Placer> make_oracle(const std::string& policy,
                                                  const Placer::Limits& limits);

}  // namespace nearfar::frontend
