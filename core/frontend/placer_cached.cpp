#include <utility>

#include "frontend/placer.h"
#include "policy/offline/paging.h"

namespace nearfar::frontend {
namespace {

using policy::PageIndex;
using policy::Paging;

/// What the pager of the live runtime does, without the limbo in which it lets pages wait: a page
/// is chosen to leave when its frame is needed.
class CachedPlacer final : public Placer {
 public:
  CachedPlacer(const std::string& policy, const Limits& limits)
      : near_pages_(limits.near_pages), paging_({.policy = policy, .near = limits.near_pages}) {}

  [[nodiscard]] bool is_cache() const override { return true; }
  [[nodiscard]] bool needs_touches() const override { return true; }
  [[nodiscard]] bool faults(PageIndex page) const override { return !paging_.is_mapped(page); }

  /// Pages come into near memory by touched().
  policy::Tier place(PageIndex, PageIndex) override { return policy::Tier::far; }
  void released(PageIndex page) override { paging_.release(page); }

  void touched(PageIndex page, bool write, Tick, std::vector<Move>& moves) override {
    ++touches_;
    changes_.clear();
    paging_.visit(page, write, &changes_);
    if (changes_.empty()) return;
    Move move{.pages = {.promote = page}};
    for (const Paging::Change& change : changes_) {
      if (change.kind == Paging::Change::Kind::zeroed) move.copies_in = false;
      if (change.page == page) continue;
      move.pages.demote = change.page;
      move.copies_out = change.kind == Paging::Change::Kind::copied_out;
    }
    moves.push_back(move);
  }

  void report(std::ostream& out) const override {
    const Paging::Counts& now = paging_.counts();
    const std::uint64_t faults = now.faults() - before_.faults();
    out << "cached.near_pages = " << near_pages_ << '\n'
        << "cached.resident_pages = " << paging_.used() << '\n'
        << "cached.hits = " << touches_ - faults << '\n'
        << "cached.faults = " << faults << '\n'
        << "cached.first_touches = " << now.first_touches - before_.first_touches << '\n'
        << "cached.copies_in = " << now.copies_in - before_.copies_in << '\n'
        << "cached.copies_out = " << now.copies_out - before_.copies_out << '\n'
        << "cached.clean_drops = " << now.clean_drops - before_.clean_drops << '\n'
        << "cached.scans = " << now.scans - before_.scans << '\n'
        << "cached.pages_scanned = " << now.pages_scanned - before_.pages_scanned << '\n';
  }
  void forget_counts() override {
    touches_ = 0;
    before_ = paging_.counts();
  }

 private:
  PageIndex near_pages_;
  Paging paging_;
  Paging::Counts before_;  ///< of which nothing is reported
  std::uint64_t touches_ = 0;
  std::vector<Paging::Change> changes_;
};

}  // namespace

std::unique_ptr<Placer> make_cached(const std::string& policy, const Placer::Limits& limits) {
  return std::make_unique<CachedPlacer>(policy, limits);
}

}  // namespace nearfar::frontend
