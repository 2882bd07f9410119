#include <algorithm>
#include <cstddef>
#include <utility>

#include "frontend/placer.h"
#include "policy/offline/owned.h"

namespace nearfar::frontend {
namespace {

using policy::Exchange;
using policy::PageIndex;
using policy::Scan;
using policy::Tier;

/// Keeps the bits that page tables have of every page, and reads them to a placement policy once
/// an interval. A scan takes no simulated time; the copies that follow do.
class FlatPlacer final : public Placer {
 public:
  FlatPlacer(policy::OwnedPlacement policy, const Limits& limits)
      : policy_(std::move(policy)),
        interval_(limits.interval),
        next_(limits.interval),
        exchanges_(std::max<std::uint64_t>(1, limits.pairs)) {}

  Tier place(PageIndex page, PageIndex near_free) override {
    if (page >= pages_.size()) {
      pages_.resize(page + std::size_t{1});
      policy_.reserve(page + 1);
    }
    return policy_->place(page, near_free);
  }
  void placed(PageIndex page, Tier tier) override {
    pages_[page].there = true;
    policy_->placed(page, tier);
  }
  void released(PageIndex page) override {
    pages_[page] = {};
    policy_->released(page);
  }

  [[nodiscard]] bool needs_touches() const override { return policy_->needs_scans(); }
  void touched(PageIndex page, bool write, Tick now, std::vector<Move>& moves) override {
    pages_[page].accessed = true;
    pages_[page].written |= write;
    if (now < next_) return;
    next_ = now + interval_;
    scan();
    const std::size_t count = policy_->decide(exchanges_);
    for (std::size_t i = 0; i < count; ++i) moves.push_back({.pages = exchanges_[i]});
    exchanges_made_ += count;
  }

  void report(std::ostream& out) const override {
    out << "flat.scans = " << scans_ << '\n'
        << "flat.pages_scanned = " << pages_scanned_ << '\n'
        << "flat.exchanges = " << exchanges_made_ << '\n';
  }
  void forget_counts() override { scans_ = pages_scanned_ = exchanges_made_ = 0; }

 private:
  struct Bits {
    bool there : 1 = false;
    bool accessed : 1 = false;
    bool written : 1 = false;
  };

  void scan() {
    found_.clear();
    for (PageIndex page = 0; page < pages_.size(); ++page) {
      Bits& bits = pages_[page];
      if (!bits.there) continue;
      found_.push_back({.page = page, .accessed = bits.accessed, .written = bits.written});
      bits.accessed = bits.written = false;
    }
    policy_->scanned(found_);
    ++scans_;
    pages_scanned_ += found_.size();
  }

  policy::OwnedPlacement policy_;
  Tick interval_;
  Tick next_;
  std::vector<Bits> pages_;
  std::vector<Scan> found_;
  std::vector<Exchange> exchanges_;
  std::uint64_t scans_ = 0;
  std::uint64_t pages_scanned_ = 0;
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
