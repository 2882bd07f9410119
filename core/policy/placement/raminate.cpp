#include <algorithm>
#include <bit>

#include "policy/placement/placement.h"
#include "policy/registry.h"
#include "policy/replacement/page_queues.h"

namespace nearfar::policy {
namespace {

struct CountedPage : PageRecord {
  std::uint16_t uses = 0;
  std::uint16_t expiry = 0;  // the scan in which its lifetime ends, modulo 2^16
};

/// RAMinate (Hirofuchi and Takano, SoCC 2016): pages of both tiers lie in queues by level
/// floor(log2 n), where n is the number of scans that found the page used, the latest last. A page
/// that was not used for a lifetime moves down a level, from the lowest into the victim queue. A
/// decision exchanges the pages of far memory in the highest levels with pages of near memory in
/// lower ones, the victim queue first, pair by pair.
class RaminatePlacement final : public Placement {
 public:
  explicit RaminatePlacement(PageIndex near_pages) { resize(near_pages); }

  [[nodiscard]] std::size_t bytes_per_page() const override { return sizeof(CountedPage); }
  void keep_in(void* records) override { pages_.keep_in(records); }
  void placed(PageIndex page, Tier tier) override {
    if (pages_.holds(page)) {
      if (is_near(pages_.queue_of(page))) --near_;
      pages_.remove(page);
    }
    near_ += tier == Tier::near ? 1 : 0;
    pages_.push_back(queue(tier, level(page)), page);
  }
  void released(PageIndex page) override {
    if (pages_.holds(page) && is_near(pages_.queue_of(page))) --near_;
    pages_.forget(page);
  }
  void moved(PageIndex from, PageIndex to) override { pages_.rename(from, to); }

  [[nodiscard]] bool needs_scans() const override { return true; }
  void scanned(std::span<const Scan> found) override {
    for (const Scan& scan : found) {
      if (!scan.accessed || !pages_.holds(scan.page)) continue;
      CountedPage& page = pages_[scan.page];
      page.uses = std::max(page.uses, static_cast<std::uint16_t>(page.uses + 1));
      page.expiry = static_cast<std::uint16_t>(now_ + lifetime);
      const Tier tier = is_near(pages_.queue_of(scan.page)) ? Tier::near : Tier::far;
      pages_.move_to_back(queue(tier, level(scan.page)), scan.page);
    }
  }
  [[nodiscard]] std::size_t decide(std::span<Exchange> exchanges) override {
    ++now_;
    for (std::uint8_t at = 2; at <= levels; ++at) {
      demote_expired(at);
      demote_expired(static_cast<std::uint8_t>(levels + at));
    }
    return pair_up(exchanges);
  }
  void resize(PageIndex near_pages) override { capacity_ = near_pages; }

 private:
  static constexpr std::uint8_t levels =
      7;  // of each tier: the victims, and 1, 2-3, ... 32 or more
  static constexpr std::uint16_t lifetime = 2;  // decisions

  [[nodiscard]] static bool is_near(std::uint8_t queue) { return queue <= levels; }
  [[nodiscard]] static std::uint8_t queue(Tier tier, std::uint8_t level) {
    return static_cast<std::uint8_t>(level + (tier == Tier::near ? 1 : levels + 1));
  }
  /// 0 for the victim queue.
  [[nodiscard]] std::uint8_t level(PageIndex page) const {
    return static_cast<std::uint8_t>(std::min<int>(std::bit_width(pages_[page].uses), levels - 1));
  }

  /// The front of a queue was used longest ago.
  void demote_expired(std::uint8_t at) {
    while (true) {
      const PageIndex page = pages_.front(at);
      if (page == no_page) return;
      CountedPage& record = pages_[page];
      if (static_cast<std::int16_t>(now_ - record.expiry) < 0) return;
      record.expiry = static_cast<std::uint16_t>(now_ + lifetime);
      // As many uses as the highest count of the level below.
      const int below = (at - 1) % levels - 1;
      record.uses = static_cast<std::uint16_t>((1U << static_cast<unsigned>(below)) - 1U);
      pages_.move_to_back(static_cast<std::uint8_t>(at - 1), page);
    }
  }

  /// Walks down the levels of far memory, and up those of near memory.
  std::size_t pair_up(std::span<Exchange> exchanges) const {
    std::size_t count = 0;
    PageIndex room = capacity_ - std::min(capacity_, near_);
    std::uint8_t cold_level = 0;
    PageIndex cold = pages_.front(queue(Tier::near, cold_level));
    for (auto hot_level = static_cast<std::uint8_t>(levels - 1); hot_level > 0; --hot_level) {
      PageIndex hot = pages_.back(queue(Tier::far, hot_level));
      for (; hot != no_page; hot = before(hot)) {
        if (count == exchanges.size()) return count;
        Exchange& exchange = exchanges[count];
        exchange = {.promote = hot};
        if (room != 0) {
          --room;
        } else {
          while (cold == no_page && cold_level + 1 < hot_level) {
            cold = pages_.front(queue(Tier::near, ++cold_level));
          }
          if (cold == no_page || cold_level >= hot_level) return count;
          exchange.demote = cold;
          cold = after(cold);
        }
        ++count;
      }
    }
    return count;
  }
  [[nodiscard]] PageIndex before(PageIndex page) const { return linked(pages_[page].before); }
  [[nodiscard]] PageIndex after(PageIndex page) const { return linked(pages_[page].after); }
  [[nodiscard]] static PageIndex linked(std::uint32_t at) {
    return at == PageRecord::end ? no_page : at;
  }

  PageQueues<2 * levels, CountedPage> pages_;
  PageIndex capacity_ = 0;
  PageIndex near_ = 0;
  std::uint16_t now_ = 0;
};

}  // namespace

Placement& make_flat_raminate(PolicyStorage& at, PageIndex near_pages) {
  return make_at<RaminatePlacement>(at, near_pages);
}

}  // namespace nearfar::policy
