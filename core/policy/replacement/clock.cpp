#include "policy/registry.h"
#include "policy/replacement/page_queues.h"

namespace nearfar::policy {
namespace {

/// A hand goes round the resident pages and takes the first that was not used since it last came
/// by (Corbató, "A paging experiment with the Multics system", 1968). Here the circle is a queue:
/// the hand is at its front; pages that it passes go to its back, and so do pages that come in. A
/// page is used if a scan found it accessed, or if it was found in limbo; one that has just come in
/// is not.
class Clock final : public QueuedReplacement<1> {
 public:
  void fault(PageIndex page) override { insert(page, 0); }
  void second_chance(PageIndex page) override { insert(page, used); }
  void scanned(std::span<const Scan> pages) override {
    for (const Scan& found : pages) {
      if (found.accessed && mine(found.page)) pages_.set_mark(found.page, used);
    }
  }

 private:
  PageIndex choose() override {
    PageIndex page = pages_.front(circle);
    while (page != no_page && pages_.mark(page) == used) {
      pages_.set_mark(page, 0);
      pages_.move_to_back(circle, page);
      page = pages_.front(circle);
    }
    if (page != no_page) pages_.remove(page);
    return page;
  }
  void readmitted(PageIndex page) override { insert(page, 0); }

  static constexpr std::uint8_t circle = 1;
  static constexpr std::uint8_t used = 1;

  void insert(PageIndex page, std::uint8_t mark) {
    pages_.push_back(circle, page);
    pages_.set_mark(page, mark);
  }
};

}  // namespace

Replacement& make_clock(PolicyStorage& at, PageIndex) { return make_at<Clock>(at); }

}  // namespace nearfar::policy
