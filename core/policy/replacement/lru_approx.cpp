#include <bit>

#include "policy/replacement/page_queues.h"
#include "policy/replacement/registry.h"

namespace nearfar::policy {
namespace {

/// Least recently used, as far as access bits tell: aging (Tanenbaum, "Modern Operating Systems",
/// 3.4.7). Every page has eight bits, which each scan shifts down and puts what it found on top;
/// the page with the lowest highest bit was used in the fewest scans lately, and goes.
///
/// Pages are queued by their highest bit, nine queues with that of none, so that the page to go is
/// at the front of the lowest. Within a queue the order is that of arrival there.
class LruApprox final : public Replacement {
 public:
  void fault(PageIndex page) override { insert(page, newest); }
  void second_chance(PageIndex page) override { insert(page, newest); }
  void scanned(std::span<const Scanned> pages) override {
    for (const Scanned& found : pages) {
      if (!pages_.holds(found.page)) continue;
      std::uint8_t& age = ages_[found.page];
      age = static_cast<std::uint8_t>((age >> 1) | (found.accessed ? newest : 0));
      if (found.accessed || queue_for(age) != pages_.queue_of(found.page)) {
        pages_.move_to_back(queue_for(age), found.page);
      }
    }
  }
  void released(PageIndex page) override { pages_.forget(page); }
  void refused(PageIndex page) override { insert(page, newest); }

  PageIndex evict() override {
    for (std::uint8_t queue = 1; queue <= queues; ++queue) {
      const PageIndex page = pages_.front(queue);
      if (page == no_page) continue;
      pages_.remove(page);
      return page;
    }
    return no_page;
  }

  [[nodiscard]] PageIndex resident() const override { return pages_.size(); }
  [[nodiscard]] bool is_resident(PageIndex page) const override { return pages_.holds(page); }
  void resize(PageIndex) override {}
  void reserve(PageIndex pages) override {
    pages_.reserve(pages);
    if (pages > ages_.size()) ages_.resize(pages);
  }
  [[nodiscard]] unsigned scans_per_turnover() const override { return 4; }

 private:
  static constexpr std::uint8_t queues = 9;
  static constexpr std::uint8_t newest = 0x80;

  static std::uint8_t queue_for(std::uint8_t age) {
    return static_cast<std::uint8_t>(1 + std::bit_width(age));
  }
  void insert(PageIndex page, std::uint8_t age) {
    if (page >= ages_.size()) ages_.resize(page + std::size_t{1});
    ages_[page] = age;
    pages_.push_back(queue_for(age), page);
  }

  PageQueues<queues> pages_;
  std::vector<std::uint8_t> ages_;
};

}  // namespace

std::unique_ptr<Replacement> make_lru_approx(PageIndex) { return std::make_unique<LruApprox>(); }

}  // namespace nearfar::policy
