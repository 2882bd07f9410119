#include <algorithm>
#include <bit>

#include "policy/registry.h"
#include "policy/replacement/page_queues.h"

namespace nearfar::policy {
namespace {

struct RaminateRecord : PageRecord {
  std::uint16_t expiry = 0;  // of a page that is away: when it left
  std::uint8_t uses = 0;
};

/// The order in which RAMinate (Hirofuchi and Takano, SoCC 2016) exchanges pages, after the
/// multi-queue of Zhou, Philbin and Li (USENIX 2001): a page used in n scans is in the queue of
/// level floor(log2 n). One that was not used for a lifetime moves down a level, from the lowest to
/// the victim queue, whose pages go first; without victims, the lowest level's oldest. A page that
/// comes back has the count that it left with, halved for every lifetime away.
///
/// A lifetime is as many faults as near memory holds pages; it is counted in sixteenths or less, so
/// that two bytes hold the time when a page's ends.
class Raminate final : public QueuedReplacement<9, RaminateRecord> {
 public:
  explicit Raminate(PageIndex capacity) { resize(capacity); }

  void fault(PageIndex page) override {
    if (++faults_in_tick_ >= tick_faults_) {
      faults_in_tick_ = 0;
      ++now_;
    }
    demote_expired();
    RaminateRecord& fact = pages_[page];
    const int lifetimes = static_cast<std::uint16_t>(now_ - fact.expiry) / lifetime_;
    fact.uses = static_cast<std::uint8_t>(fact.uses >> std::min(lifetimes, 8));
    use(page);
    pages_.push_back(level(page), page);
  }
  void second_chance(PageIndex page) override {
    use(page);
    pages_.push_back(level(page), page);
  }
  void scanned(std::span<const Scan> pages) override {
    for (const Scan& found : pages) {
      if (!found.accessed || !mine(found.page)) continue;
      use(found.page);
      pages_.move_to_back(level(found.page), found.page);
    }
  }

  void resize(PageIndex capacity) override {
    tick_faults_ = std::max<PageIndex>(1, capacity / 16);
    lifetime_ = static_cast<std::uint16_t>(std::max<PageIndex>(1, capacity / tick_faults_));
  }

 private:
  PageIndex choose() override {
    for (std::uint8_t queue = victims; queue <= queues; ++queue) {
      const PageIndex page = pages_.front(queue);
      if (page == no_page) continue;
      pages_.remove(page);
      pages_[page].expiry = now_;
      return page;
    }
    return no_page;
  }
  void readmitted(PageIndex page) override {
    use(page);
    pages_.push_back(level(page), page);
  }

  static constexpr std::uint8_t victims = 1;
  static constexpr std::uint8_t queues = 9;  // with the levels of 1, 2-3, 4-7, ... 128-255 uses

  [[nodiscard]] std::uint8_t level(PageIndex page) const {
    return static_cast<std::uint8_t>(victims + std::bit_width(pages_[page].uses));
  }
  [[nodiscard]] std::uint16_t ends() const { return static_cast<std::uint16_t>(now_ + lifetime_); }
  void use(PageIndex page) {
    RaminateRecord& fact = pages_[page];
    fact.uses = std::max(fact.uses, static_cast<std::uint8_t>(fact.uses + 1));
    fact.expiry = ends();
  }
  /// As in the multi-queue only the front of each queue is looked at: it has been there longest.
  void demote_expired() {
    for (std::uint8_t queue = victims + 1; queue <= queues; ++queue) {
      const PageIndex page = pages_.front(queue);
      if (page == no_page) continue;
      RaminateRecord& fact = pages_[page];
      if (static_cast<std::int16_t>(now_ - fact.expiry) < 0) continue;
      fact.expiry = ends();
      pages_.move_to_back(static_cast<std::uint8_t>(queue - 1), page);
    }
  }

  PageIndex tick_faults_ = 1;
  std::uint16_t lifetime_ = 1;  // in ticks: 31 at most
  PageIndex faults_in_tick_ = 0;
  std::uint16_t now_ = 0;
};

}  // namespace

Replacement& make_raminate(PolicyStorage& at, PageIndex capacity) {
  return make_at<Raminate>(at, capacity);
}

}  // namespace nearfar::policy
