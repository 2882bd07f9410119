#include "policy/replacement/page_queues.h"
#include "policy/replacement/registry.h"

namespace nearfar::policy {
namespace {

/// What came in first leaves first, used or not. Needs no scans. A page found in limbo goes to the
/// back of the queue, so that with limbo behind it this is the segmented FIFO of VMS (Turner and
/// Levy, "Segmented FIFO page replacement", SIGMETRICS 1981).
class FifoReplacement final : public Replacement {
 public:
  void fault(PageIndex page) override { pages_.push_back(queue, page); }
  void second_chance(PageIndex page) override { pages_.push_back(queue, page); }
  void scanned(std::span<const Scanned>) override {}
  void released(PageIndex page) override { pages_.forget(page); }
  void refused(PageIndex page) override { pages_.push_back(queue, page); }

  PageIndex evict() override {
    const PageIndex page = pages_.front(queue);
    if (page != no_page) pages_.remove(page);
    return page;
  }

  [[nodiscard]] PageIndex resident() const override { return pages_.size(); }
  [[nodiscard]] bool is_resident(PageIndex page) const override { return pages_.holds(page); }
  void resize(PageIndex) override {}
  void reserve(PageIndex pages) override { pages_.reserve(pages); }
  [[nodiscard]] unsigned scans_per_turnover() const override { return 0; }

 private:
  static constexpr std::uint8_t queue = 1;
  PageQueues<1> pages_;
};

}  // namespace

std::unique_ptr<Replacement> make_fifo_replacement(PageIndex) {
  return std::make_unique<FifoReplacement>();
}

}  // namespace nearfar::policy
