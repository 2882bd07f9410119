#include <algorithm>
#include <cstddef>
#include <utility>

#include "frontend/placer.h"
#include "policy/offline/owned.h"

namespace nearfar::frontend {
namespace {

using policy::Detector;
using policy::Exchange;
using policy::PageIndex;
using policy::Scan;
using policy::Tier;

// As on Linux 6.18: a page in a scan, and one that a probe unmaps; its first touch then, which is a
// fault; a sample; a pair of pages that changes places (docs/placement.md). What a read of far
// memory takes longer is that of a CXL expander.
constexpr Tick scan_cost(4'000);
constexpr Tick probe_cost(500'000);
constexpr Tick fault_cost(2'100'000);
constexpr Tick sample_cost(300'000);
constexpr Tick exchange_cost(9'000'000);
constexpr Tick far_cost(279'000);
// A detector that samples takes one access in so many.
constexpr std::uint64_t sample_period = 997;

/// Keeps the bits that page tables have of every page, and reads them to a placement policy five
/// times an interval. That takes the time of the core at which a scan falls due; so do the copies
/// that follow a decision.
class FlatPlacer final : public Placer {
 public:
  FlatPlacer(policy::OwnedPlacement policy, const Limits& limits)
      : policy_(std::move(policy)),
        detector_(limits.detector),
        seen_(limits.detector, sample_period),
        scan_after_(std::max<std::uint64_t>(1, limits.interval.ps() / policy::scans_a_decision)),
        next_(scan_after_),
        exchanges_(std::max<std::uint64_t>(1, limits.pairs)),
        ever_scans_(policy_->needs_scans()) {
    policy_->costs({.interval = limits.interval,
                    .exchange = exchange_cost,
                    .saved = far_cost,
                    .scan = detector_ == Detector::probe ? probe_cost : scan_cost});
    scans_now_ = ever_scans_;
  }

  Tier place(PageIndex page, PageIndex near_free) override {
    if (page >= pages_.size()) {
      pages_.resize(page + std::size_t{1});
      seen_.add(page);
      policy_.reserve(page + 1);
    }
    return policy_->place(page, near_free);
  }
  void placed(PageIndex page, Tier tier) override {
    pages_[page] = {.there = true, .near = tier == Tier::near};
    policy_->placed(page, tier);
  }
  void released(PageIndex page) override {
    pages_[page] = {};
    policy_->released(page);
  }

  [[nodiscard]] bool needs_touches() const override { return ever_scans_; }
  void touched(PageIndex page, bool write, Tick now, std::vector<Move>& moves) override {
    // The moves of a decision are made before the next one.
    while (now >= next_ && !pass(moves)) {
    }
    if (scans_now_ && detector_ != Detector::sampled) see(page, write, now);
  }
  void asked(PageIndex page, bool write, Tick now, std::vector<Move>&) override {
    if (!write) ++(pages_[page].near ? served_.near : served_.far);
    if (scans_now_ && detector_ == Detector::sampled) see(page, write, now);
  }
  [[nodiscard]] Tick take_time() override { return std::exchange(time_, Tick{}); }

  void report(std::ostream& out) const override {
    out << "flat.scans = " << scans_ << '\n'
        << "flat.pages_scanned = " << pages_scanned_ << '\n'
        << "flat.scan_ps = " << scan_time_.ps() << '\n'
        << "flat.exchanges = " << exchanges_made_ << '\n';
  }
  void forget_counts() override {
    scans_ = pages_scanned_ = exchanges_made_ = 0;
    scan_time_ = Tick{};
  }

 private:
  struct Page {
    bool there : 1 = false;
    bool near : 1 = false;
  };

  void see(PageIndex page, bool write, Tick now) {
    const Tick begin = next_ - scan_after_;
    const std::uint64_t delay = now < begin ? 0 : 16 * (now - begin).ps() / scan_after_.ps();
    seen_.accessed(page, write, static_cast<std::uint8_t>(std::min<std::uint64_t>(delay, 15)));
  }

  /// The time of a scan has come, and with every fifth that of a decision, which this returns.
  bool pass(std::vector<Move>& moves) {
    next_ += scan_after_;
    if (scans_now_) scan();
    scans_now_ = policy_->needs_scans();
    if (++scans_passed_ % policy::scans_a_decision != 0) return false;
    policy_->served(std::exchange(served_, {}));
    const std::size_t count = policy_->decide(exchanges_);
    for (std::size_t i = 0; i < count; ++i) moves.push_back({.pages = exchanges_[i]});
    exchanges_made_ += count;
    return true;
  }

  void scan() {
    seen_.scan(found_);
    std::erase_if(found_, [this](const Scan& scan) { return !pages_[scan.page].there; });
    policy_->scanned(found_);
    ++scans_;
    pages_scanned_ += found_.size();
    const Tick each = detector_ == Detector::probe ? probe_cost : scan_cost;
    const Tick told = detector_ == Detector::probe     ? fault_cost
                      : detector_ == Detector::sampled ? sample_cost
                                                       : Tick{};
    const Tick took = found_.size() * each + seen_.told() * told;
    scan_time_ += took;
    time_ += took;
  }

  policy::OwnedPlacement policy_;
  Detector detector_;
  policy::Seen seen_;
  Tick scan_after_;
  Tick next_;
  std::vector<Page> pages_;
  std::vector<Scan> found_;
  std::vector<Exchange> exchanges_;
  bool ever_scans_;
  bool scans_now_ = false;
  policy::Served served_{};
  Tick time_{};  // of scans, not yet taken
  std::uint64_t scans_passed_ = 0;
  std::uint64_t scans_ = 0;
  std::uint64_t pages_scanned_ = 0;
  Tick scan_time_{};
  std::uint64_t exchanges_made_ = 0;
};

/// An oracle is told what memory is asked for.
class OraclePlacer final : public Placer {
 public:
  OraclePlacer(const std::string& policy, const Limits& limits)
      : oracle_(policy::make_oracle(policy, {.near_pages = limits.near_pages,
                                             .interval = limits.interval,
                                             .pairs = limits.pairs})) {}

  Tier place(PageIndex page, PageIndex) override { return oracle_->place(page); }
  void released(PageIndex page) override { oracle_->released(page); }
  void asked(PageIndex page, bool write, Tick now, std::vector<Move>& moves) override {
    wanted_.clear();
    oracle_->accessed(page, write, now, wanted_);
    for (const Exchange& exchange : wanted_) moves.push_back({.pages = exchange});
  }

 private:
  std::unique_ptr<policy::Oracle> oracle_;
  std::vector<Exchange> wanted_;
};

}  // namespace

std::unique_ptr<Placer> make_flat(const std::string& policy, const Placer::Limits& limits) {
  return std::make_unique<FlatPlacer>(policy::OwnedPlacement(policy, limits.near_pages), limits);
}

std::unique_ptr<Placer> make_flat(policy::Placement& policy, const Placer::Limits& limits) {
  return std::make_unique<FlatPlacer>(policy::OwnedPlacement(policy), limits);
}

std::unique_ptr<Placer> make_oracle(const std::string& policy, const Placer::Limits& limits) {
  return std::make_unique<OraclePlacer>(policy, limits);
}

}  // namespace nearfar::frontend
