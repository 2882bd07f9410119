#pragma once

#include <cstddef>
#include <span>

#include "base/tick.h"
#include "policy/page.h"

namespace nearfar::policy {

/// Scans between two decisions: RAMinate scans every second and exchanges every five (Hirofuchi and
/// Takano, SoCC 2016).
inline constexpr unsigned scans_a_decision = 5;

/// What it costs to exchange pages, and what it saves, as far as the caller knows.
struct Costs {
  Tick interval{};  ///< between decisions
  Tick exchange{};  ///< of one pair
  Tick saved{};  ///< by a read that near memory serves and not far memory
  Tick scan{};  ///< of one page
};

/// How many reads each tier has served: a program waits for those.
struct Served {
  std::uint64_t near = 0;
  std::uint64_t far = 0;
};

/// Decides which pages of two directly addressed tiers change places.
///
/// Nothing faults here: a program uses both tiers by address. All that a policy learns of the use
/// of a page is what a scan of the page tables finds, once an interval: whether it was accessed and
/// whether it was written since the scan before. After a scan it may name exchanges, at most as
/// many as the caller has room for.
///
///     scanned(...), scanned(...)         a scan, in parts of any size, near and far pages together
///     served(...)                        what memory did since the decision before, if counted
///     decide(exchanges)                  the pairs that should change places
///     placed(page, tier)                 for every page that did
///
/// The policy believes `placed` alone: an exchange that could not be made (a page pinned for DMA,
/// a queue of copies that is full) is not reported, and the policy may name it again.
///
/// The same code serves the live runtime and the simulator; as of a Replacement, it makes no system
/// call, takes no lock, throws nothing and allocates nothing: the memory is the caller's. It is
/// never destroyed, and holds nothing that would have to be.
class Placement {
 public:
  Placement() = default;
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  /// The size of its record of a page, a multiple of 4; 0 if it has none.
  [[nodiscard]] virtual std::size_t bytes_per_page() const = 0;
  /// Where its records lie, before any event: `bytes_per_page` for each page that there will be,
  /// zeros at first. Called again when all of them have been copied elsewhere, as they are.
  virtual void keep_in(void* records) = 0;

  /// A page is touched for the first time: the tier it should lie in. `near_free` pages more fit
  /// into near memory.
  [[nodiscard]] virtual Tier place(PageIndex, PageIndex near_free) {
    return near_free != 0 ? Tier::near : Tier::far;
  }
  /// The page lies in that tier now: it was touched for the first time, or has moved.
  virtual void placed(PageIndex page, Tier tier) = 0;
  /// The page is unmapped: nothing is remembered of it.
  virtual void released(PageIndex page) = 0;
  /// The program moved a page to another address (mremap): all that was known of `from` is known of
  /// `to` now, and nothing of `from`.
  virtual void moved(PageIndex from, PageIndex to) = 0;

  /// What exchanges cost and save, before any event. A policy that weighs neither ignores it.
  virtual void costs(const Costs&) {}
  /// What memory has served since the decision before, told before the next one by a caller that
  /// counts it, and never by others.
  virtual void served(const Served&) {}

  /// Whether the next scan is worth its cost: a policy that ignores scans says no, one that backs
  /// off where nothing changes says no now and then.
  [[nodiscard]] virtual bool needs_scans() const = 0;
  /// Part of a scan: pages that are placed, used or not.
  virtual void scanned(std::span<const Scan> pages) = 0;
  /// The scans of an interval are complete, made or not. Writes the exchanges that should be made
  /// into `exchanges`, the most urgent first, no page twice, and returns how many there are.
  [[nodiscard]] virtual std::size_t decide(std::span<Exchange> exchanges) = 0;

  /// Near memory holds so many pages from now on.
  virtual void resize(PageIndex near_pages) = 0;

 protected:
  ~Placement() = default;
};

}  // namespace nearfar::policy
