#include <algorithm>

#include "policy/registry.h"
#include "policy/replacement/page_queues.h"

namespace nearfar::policy {
namespace {

/// 2Q (Johnson and Shasha, "2Q: a low overhead high performance buffer management replacement
/// algorithm", VLDB 1994, the full version). A page that comes in waits in a first-in first-out
/// queue of a quarter of near memory (A1in); use there means nothing, as it may be one burst. What
/// leaves it is remembered for as many departures as half of near memory (A1out), and if it returns
/// meanwhile it enters the main queue (Am), which is ordered by last use, as the scans show it. A
/// page found in limbo has come back sooner than any remembered one, and is treated so.
class TwoQ final : public QueuedReplacement<2> {
 public:
  explicit TwoQ(PageIndex capacity) { resize(capacity); }

  void fault(PageIndex page) override { pages_.push_back(remembered(page) ? main : in, page); }
  void second_chance(PageIndex page) override { pages_.push_back(main, page); }
  void scanned(std::span<const Scan> pages) override {
    for (const Scan& found : pages) {
      if (found.accessed && pages_.queue_of(found.page) == main) {
        pages_.move_to_back(main, found.page);
      }
    }
  }

  void resize(PageIndex capacity) override {
    most_in_ = std::max<PageIndex>(1, capacity / 4);
    remembered_ = std::max<PageIndex>(1, capacity / 2);
  }

 private:
  PageIndex choose() override {
    const bool from_in = pages_.size(in) > most_in_ || pages_.size(main) == 0;
    const PageIndex page = pages_.front(from_in ? in : main);
    if (page == no_page) return page;
    pages_.remove(page);
    pages_.set_mark(page, from_in ? left_in : 0);
    if (from_in) pages_.set_note(page, ++departures_);
    return page;
  }
  void readmitted(PageIndex page) override { pages_.push_back(main, page); }

  enum Queue : std::uint8_t { in = 1, main = 2 };
  static constexpr std::uint32_t departures = PageRecord::notes;  // told apart
  static constexpr std::uint8_t left_in = 1;  // the mark of a page that its note tells about

  [[nodiscard]] bool remembered(PageIndex page) const {
    return pages_.mark(page) == left_in &&
           (departures_ - pages_.note(page)) % departures < remembered_;
  }

  PageIndex most_in_ = 0;
  PageIndex remembered_ = 0;
  std::uint32_t departures_ = 0;  // from A1in
};

}  // namespace

Replacement& make_two_q(PolicyStorage& at, PageIndex capacity) {
  return make_at<TwoQ>(at, capacity);
}

}  // namespace nearfar::policy
