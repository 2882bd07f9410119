#include <algorithm>
#include <array>
#include <cstddef>

#include "policy/placement/tiered_pages.h"
#include "policy/registry.h"

namespace nearfar::policy {
namespace {

struct HintedPage {
  std::uint8_t age = 0;    // scans since it was used
  std::uint8_t delay = 0;  // of its first use after the latest scan that found it used
  bool known : 1 = false;
  bool near : 1 = false;
  bool candidate : 1 = false;
  std::uint8_t unused = 0;  // a record's size is a multiple of four
};
static_assert(sizeof(HintedPage) == 4);

/// Linux's promotion of hot pages (NUMA balancing, mode 2, since 6.1; kernel documentation of
/// `kernel.numa_balancing`): a page of far memory is hot if it is touched soon after a scan. How
/// soon is adjusted so that about as many pages are hot as may be promoted, and no more of them
/// are. What makes room is demoted as reclaim chooses: used longest ago.
///
/// The kernel promotes at the touch itself; here it is at the next decision. Detectors other than
/// `probe` do not see how soon a page is touched: to this policy every page found used is hot then.
class NumaBalancing final : public TieredPages<HintedPage> {
 public:
  using TieredPages::TieredPages;

  void placed(PageIndex page, Tier tier) override {
    HintedPage& placed = put(page, tier);
    placed.candidate = false;
    placed.age = 0;
  }
  [[nodiscard]] bool needs_scans() const override { return true; }
  void scanned(std::span<const Scan> found) override {
    for (const Scan& scan : found) {
      HintedPage& record = at(scan.page);
      record.candidate |= scan.accessed && !record.near && scan.delay < threshold_;
      record.age = scan.accessed ? std::uint8_t{0} : older(record.age);
    }
  }
  [[nodiscard]] std::size_t decide(std::span<Exchange> exchanges) override {
    std::size_t candidates = 0;
    std::size_t count = 0;
    for (PageIndex i = 0; i < end(); ++i) {
      // From where the last decision ended, so that every page has its turn.
      const PageIndex page = (next_ + i) % end();
      if (!at(page).candidate) continue;
      at(page).candidate = false;
      ++candidates;
      if (count == exchanges.size()) continue;
      exchanges[count++] = {.promote = page};
      if (count == exchanges.size()) last_ = page;
    }
    if (count != 0 && count == exchanges.size()) next_ = (last_ + 1) % end();
    adjust(candidates, exchanges.size());
    return make_room(exchanges.first(count));
  }

 private:
  static constexpr std::uint8_t oldest = 255;
  static constexpr int usual = 16;  // sixteenths of the time between two scans: all of it

  [[nodiscard]] static std::uint8_t older(std::uint8_t age) {
    return age == oldest ? oldest : static_cast<std::uint8_t>(age + 1);
  }

  /// By an eighth of the usual at a time, and up to twice that.
  void adjust(std::size_t candidates, std::size_t wanted) {
    constexpr int step = usual * 2 / 16;
    if (candidates * 10 > wanted * 11) threshold_ = std::max(threshold_ - step, step);
    if (candidates * 10 < wanted * 9) threshold_ = std::min(threshold_ + step, 2 * usual);
  }

  /// Gives each promotion the page of near memory that was used longest ago; returns for how many
  /// there was room.
  std::size_t make_room(std::span<Exchange> exchanges) {
    const std::size_t free = room();
    std::ranges::fill(by_age_, 0);
    for (PageIndex page = 0; page < end(); ++page) {
      if (at(page).near) ++by_age_[at(page).age];
    }
    std::size_t before = free;
    for (std::size_t age = by_age_.size(); age-- > 0;) {
      const std::size_t many = by_age_[age];
      by_age_[age] = static_cast<PageIndex>(before);
      before += many;
    }
    for (PageIndex page = 0; page < end(); ++page) {
      if (!at(page).near) continue;
      const std::size_t rank = by_age_[at(page).age]++;
      if (rank < exchanges.size()) exchanges[rank].demote = page;
    }
    return std::min(exchanges.size(), before);
  }

  PageIndex next_ = 0;
  PageIndex last_ = 0;
  int threshold_ = usual;
  std::array<PageIndex, oldest + 1> by_age_{};
};

}  // namespace

Placement& make_numa_balancing(PolicyStorage& at, PageIndex near_pages) {
  return make_at<NumaBalancing>(at, near_pages);
}

}  // namespace nearfar::policy
