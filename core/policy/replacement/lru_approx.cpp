#include "policy/registry.h"
#include "policy/replacement/page_queues.h"

namespace nearfar::policy {
namespace {

/// Least recently used, as far as access bits tell: aging (Tanenbaum, "Modern Operating Systems",
/// 3.4.7), by one bit of the eight. There, a page has eight bits, which each scan shifts down and
/// puts what it found on top, and the page with the lowest number goes. Here, the page whose
/// highest bit is lowest goes, which no scan has found used for longest; lower bits, of older
/// scans, do not choose among such pages.
///
/// No shift can bring a lower bit before the highest that is set. So a page's queue stands for its
/// bits: nine queues with that of none, the page to go being at the front of the lowest. Within a
/// queue the order is that of arrival there, and of those that a scan moves together its own.
class LruApprox final : public QueuedReplacement<9> {
 public:
  void fault(PageIndex page) override { pages_.push_back(newest, page); }
  void second_chance(PageIndex page) override { pages_.push_back(newest, page); }
  void scanned(std::span<const Scan> pages) override {
    for (const Scan& found : pages) {
      if (!mine(found.page)) continue;
      const std::uint8_t queue = pages_.queue_of(found.page);
      if (found.accessed) {
        pages_.move_to_back(newest, found.page);
      } else if (queue > unused) {
        pages_.move_to_back(queue - 1, found.page);
      }
    }
  }

 private:
  PageIndex choose() override {
    for (std::uint8_t queue = unused; queue <= newest; ++queue) {
      const PageIndex page = pages_.front(queue);
      if (page == no_page) continue;
      pages_.remove(page);
      return page;
    }
    return no_page;
  }
  void readmitted(PageIndex page) override { pages_.push_back(newest, page); }

  static constexpr std::uint8_t unused = 1;
  static constexpr std::uint8_t newest = 9;
};

}  // namespace

Replacement& make_lru_approx(PolicyStorage& at, PageIndex) { return make_at<LruApprox>(at); }

}  // namespace nearfar::policy
