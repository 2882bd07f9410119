#include "policy/registry.h"
#include "policy/replacement/page_queues.h"

namespace nearfar::policy {
namespace {

/// The page that came in first leaves first, used or not. Needs no scans. A page found in limbo
/// goes to the back of the queue, so that with limbo behind it this is the segmented FIFO of VMS
/// (Turner and Levy, "Segmented FIFO page replacement", SIGMETRICS 1981).
class Fifo final : public QueuedReplacement<1> {
 public:
  void fault(PageIndex page) override { pages_.push_back(queue, page); }
  void second_chance(PageIndex page) override { pages_.push_back(queue, page); }
  void scanned(std::span<const Scan>) override {}

  [[nodiscard]] unsigned scans_per_turnover() const override { return 0; }

 private:
  PageIndex choose() override {
    const PageIndex page = pages_.front(queue);
    if (page != no_page) pages_.remove(page);
    return page;
  }
  void readmitted(PageIndex page) override { pages_.push_back(queue, page); }

  static constexpr std::uint8_t queue = 1;
};

}  // namespace

Replacement& make_fifo(PolicyStorage& at, PageIndex) { return make_at<Fifo>(at); }

}  // namespace nearfar::policy
