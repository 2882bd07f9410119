#include <algorithm>

#include "policy/registry.h"
#include "policy/replacement/page_queues.h"

namespace nearfar::policy {
namespace {

/// S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023). A page
/// that comes in goes through a small queue of a tenth of near memory; unused there it leaves, and
/// is remembered for as many such departures as the main queue has places. Used there, or back
/// while remembered, it enters the main queue, which gives as many further rounds as uses were
/// counted, three at most.
///
/// The paper counts accesses, and asks for two in the small queue. A scan tells of one, however
/// many there were, so one is enough here. A page found in limbo has been used there, a short time
/// after it left, and of how often since it came nothing is known: it enters the main queue as one
/// used most.
class S3Fifo final : public QueuedReplacement<2> {
 public:
  explicit S3Fifo(PageIndex capacity) { resize(capacity); }

  void fault(PageIndex page) override {
    insert(remembered(page) ? main : small, page);
    pages_.look_ahead(pages_.size(small) >= most_small_ ? small : main);
  }
  void second_chance(PageIndex page) override {
    insert(main, page);
    pages_.set_mark(page, most_uses);
  }
  void scanned(std::span<const Scan> pages) override {
    for (const Scan& found : pages) {
      if (!found.accessed || !mine(found.page)) continue;
      pages_.set_mark(found.page, std::min(most_uses + 0U, uses(found.page) + 1U));
    }
  }

  void resize(PageIndex capacity) override {
    most_small_ = std::max<PageIndex>(1, capacity / 10);
    remembered_ = std::max<PageIndex>(1, capacity - capacity / 10);
  }

 private:
  PageIndex choose() override {
    while (pages_.size(small) >= most_small_ || pages_.size(main) == 0) {
      const PageIndex page = pages_.front(small);
      if (page == no_page) return no_page;
      pages_.remove(page);
      if (uses(page) == 0) {
        pages_.set_mark(page, left_small);
        pages_.set_note(page, ++departures_);
        return page;
      }
      insert(main, page);
    }
    PageIndex page = pages_.front(main);
    while (uses(page) != 0) {
      pages_.set_mark(page, uses(page) - 1U);
      pages_.move_to_back(main, page);
      page = pages_.front(main);
    }
    pages_.remove(page);
    return page;
  }
  void readmitted(PageIndex page) override { insert(main, page); }

  enum Queue : std::uint8_t { small = 1, main = 2 };
  static constexpr std::uint32_t departures = PageRecord::notes;  // told apart
  static constexpr std::uint8_t most_uses = 3;
  static constexpr std::uint8_t left_small = 15;  // the mark of a page that its note tells about

  [[nodiscard]] std::uint8_t uses(PageIndex page) const { return pages_.mark(page); }
  [[nodiscard]] bool remembered(PageIndex page) const {
    return pages_.mark(page) == left_small &&
           (departures_ - pages_.note(page)) % departures < remembered_;
  }
  void insert(Queue queue, PageIndex page) {
    pages_.push_back(queue, page);
    pages_.set_mark(page, 0);
  }

  PageIndex most_small_ = 0;
  PageIndex remembered_ = 0;
  std::uint32_t departures_ = 0;  // from the small queue
};

}  // namespace

Replacement& make_s3_fifo(PolicyStorage& at, PageIndex capacity) {
  return make_at<S3Fifo>(at, capacity);
}

}  // namespace nearfar::policy
