#include "policy/replacement/page_queues.h"
#include "policy/replacement/registry.h"

namespace nearfar::policy {
namespace {

/// A hand goes round the resident pages and takes the first that was not used since it last came
/// by (Corbató, "A paging experiment with the Multics system", 1968). Here the circle is a queue:
/// the hand is at its front, what it passes goes to its back, and so does what comes in. Used is
/// what a scan found accessed, or what was found in limbo; a page that has just come in is not yet.
class Clock final : public Replacement {
 public:
  void fault(PageIndex page) override { insert(page, 0); }
  void second_chance(PageIndex page) override { insert(page, used); }
  void scanned(std::span<const Scanned> pages) override {
    for (const Scanned& found : pages) {
      if (found.accessed && pages_.holds(found.page)) pages_.set_mark(found.page, used);
    }
  }
  void released(PageIndex page) override { pages_.forget(page); }
  void refused(PageIndex page) override { insert(page, 0); }

  PageIndex evict() override {
    PageIndex page = pages_.front(circle);
    while (page != no_page && pages_.mark(page) == used) {
      pages_.set_mark(page, 0);
      pages_.move_to_back(circle, page);
      page = pages_.front(circle);
    }
    if (page != no_page) pages_.remove(page);
    return page;
  }

  [[nodiscard]] PageIndex resident() const override { return pages_.size(); }
  [[nodiscard]] bool is_resident(PageIndex page) const override { return pages_.holds(page); }
  void resize(PageIndex) override {}
  void reserve(PageIndex pages) override { pages_.reserve(pages); }
  [[nodiscard]] unsigned scans_per_turnover() const override { return 4; }

 private:
  static constexpr std::uint8_t circle = 1;
  static constexpr std::uint8_t used = 1;

  void insert(PageIndex page, std::uint8_t mark) {
    pages_.push_back(circle, page);
    pages_.set_mark(page, mark);
  }

  PageQueues<1> pages_;
};

}  // namespace

std::unique_ptr<Replacement> make_clock(PageIndex) { return std::make_unique<Clock>(); }

}  // namespace nearfar::policy
