#include <algorithm>
#include <cstddef>

#include "policy/placement/tiered_pages.h"
#include "policy/registry.h"

namespace nearfar::policy {
namespace {

struct SampledPage {
  std::uint8_t reads = 0;
  std::uint8_t writes = 0;
  std::uint8_t cooled = 0;  // how often all counts had been halved when these were current
  bool known : 1 = false;
  bool near : 1 = false;
};
static_assert(sizeof(SampledPage) == 4);

/// After HeMem (Raybuck and others, SOSP 2021), which counts the samples of each page: a page with
/// 8 reads or 4 writes is hot, all counts are halved when one comes to 18, and hot pages of far
/// memory, written ones first, take the places of pages of near memory that are not hot. Where none
/// is not hot, nothing moves.
///
/// To a detector that does not sample, a page found used is one sample.
class HeMem final : public TieredPages<SampledPage> {
 public:
  using TieredPages::TieredPages;

  void placed(PageIndex page, Tier tier) override {
    if (!at(page).known) at(page).cooled = cooled_;
    put(page, tier);
  }
  [[nodiscard]] bool needs_scans() const override { return true; }
  void scanned(std::span<const Scan> found) override {
    for (const Scan& scan : found) {
      if (!scan.accessed) continue;
      SampledPage& record = at(scan.page);
      cool(record);
      const std::uint32_t samples = std::max<std::uint32_t>(1, scan.samples);
      const std::uint32_t reads = record.reads + samples - (scan.written ? 1 : 0);
      record.reads = static_cast<std::uint8_t>(std::min<std::uint32_t>(reads, cooling));
      record.writes = static_cast<std::uint8_t>(record.writes + (scan.written ? 1 : 0));
      if (record.reads + record.writes >= cooling) ++cooled_;
    }
  }
  [[nodiscard]] std::size_t decide(std::span<Exchange> exchanges) override {
    std::size_t left = room();
    std::size_t count = 0;
    PageIndex cold = 0;
    for (const bool written : {true, false}) {
      for (PageIndex page = 0; page < end() && count < exchanges.size(); ++page) {
        SampledPage& record = at(page);
        if (!record.known || record.near) continue;
        cool(record);
        if (is_written(record) != written || !is_hot(record)) continue;
        Exchange& exchange = exchanges[count];
        exchange = {.promote = page};
        if (left != 0) {
          --left;
        } else {
          cold = next_cold(cold);
          if (cold == end()) return count;
          exchange.demote = cold++;
        }
        ++count;
      }
    }
    return count;
  }

 private:
  static constexpr std::uint32_t cooling = 18;
  static constexpr std::uint8_t hot_reads = 8;
  static constexpr std::uint8_t hot_writes = 4;

  [[nodiscard]] static bool is_written(const SampledPage& page) {
    return page.writes >= hot_writes;
  }
  [[nodiscard]] static bool is_hot(const SampledPage& page) {
    return is_written(page) || page.reads >= hot_reads;
  }
  /// Halves the counts of a page as often as all have been meanwhile.
  void cool(SampledPage& page) const {
    const auto times = std::min<unsigned>(static_cast<std::uint8_t>(cooled_ - page.cooled), 8);
    page.reads = static_cast<std::uint8_t>(page.reads >> times);
    page.writes = static_cast<std::uint8_t>(page.writes >> times);
    page.cooled = cooled_;
  }
  PageIndex next_cold(PageIndex page) {
    for (; page < end(); ++page) {
      SampledPage& record = at(page);
      if (!record.near) continue;
      cool(record);
      if (!is_hot(record)) break;
    }
    return page;
  }

  std::uint8_t cooled_ = 0;
};

}  // namespace

Placement& make_hemem(PolicyStorage& at, PageIndex near_pages) {
  return make_at<HeMem>(at, near_pages);
}

}  // namespace nearfar::policy
