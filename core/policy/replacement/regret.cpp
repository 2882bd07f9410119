#include <algorithm>
#include <bit>
#include <cstddef>

#include "policy/replacement/page_queues.h"
#include "policy/replacement/registry.h"
#include "policy/replacement/reuse_table.h"

namespace nearfar::policy {
namespace {

struct RegretRecord : PageRecord {
  std::uint32_t last_use = 0;
  std::uint16_t interval = 0;
};

/// Evicts the page whose next use is expected to be farthest away: what Belady's choice does with
/// the future, from what the past tells. No threshold says what is hot.
///
/// Of every page, near or far, three things are kept: when it was last known to be used (in faults
/// so far), the mean interval between its uses, and over how many uses that mean is. They give a
/// rate, (uses + 1) / (time observed + a little), which is what to expect of a page used at random;
/// the little makes a page that came just now neither hot nor cold. All faults, in particular of
/// pages that were evicted and should not have been, and all scans go into a table that says how
/// far such rates can be trusted: by which factor pages of that mean interval and of that age were
/// used earlier or later. So it holds on to part of a loop that does not fit, lets a scan pass,
/// counts like LFU where use is random, and forgets a phase when pages of that kind stop returning.
///
/// Resident pages are queued by the kind of their interval, each queue in order of last use. Within
/// a kind either the oldest or the newest page is the one to go, so that a choice looks at two
/// pages of each of fourteen queues.
///
/// Sixteen bytes a page, two of them spare: eight of the queues, the mark being one more than the
/// uses; four for the time of last use, two for the mean interval, the upper half of a float, good
/// to a part in 128.
class Regret final : public QueuedReplacement<ReuseTable::kinds, RegretRecord> {
 public:
  explicit Regret(PageIndex capacity) : table_(capacity) { resize(capacity); }

  void fault(PageIndex page) override {
    ++now_;
    if (++since_learnt_ >= std::max<PageIndex>(1, capacity_ / 8)) learn();
    known_ = std::max(known_, page + 1);
    use(page);
  }
  void second_chance(PageIndex page) override { use(page); }
  void scanned(std::span<const Scanned> pages) override {
    for (const Scanned& found : pages) {
      if (!found.accessed || !mine(found.page)) continue;
      pages_.remove(found.page);
      use(found.page);
    }
  }
  void moved(PageIndex from, PageIndex to) override {
    known_ = std::max(known_, to + 1);
    pages_.rename(from, to);
  }

  void resize(PageIndex capacity) override {
    capacity_ = capacity;
    table_.resize(capacity);
  }

 private:
  PageIndex choose() override {
    PageIndex chosen = no_page;
    float longest = -1;
    for (std::uint8_t queue = queues; queue > 0; --queue) {
      for (const PageIndex page : {pages_.front(queue), pages_.back(queue)}) {
        if (page == no_page) continue;
        const float wait = expected_wait(page, queue);
        if (wait > longest) {
          longest = wait;
          chosen = page;
        }
      }
    }
    if (chosen != no_page) pages_.remove(chosen);
    return chosen;
  }
  void readmitted(PageIndex page) override {
    pages_[page].last_use = now_;
    pages_.push_back(queue_for(page), page);
  }

  static constexpr std::uint8_t queues = ReuseTable::kinds;
  static constexpr int most_uses = PageRecord::highest_mark - 1;

  [[nodiscard]] int uses(PageIndex page) const { return pages_.mark(page) - 1; }
  [[nodiscard]] float mean_interval(PageIndex page) const {
    return std::bit_cast<float>(std::uint32_t{pages_[page].interval} << 16);
  }
  void set_mean_interval(PageIndex page, float interval) {
    // To the nearest of the floats whose lower half is 0.
    pages_[page].interval =
        static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(interval) + 0x8000) >> 16);
  }

  /// Uses in a time, as guessed from the page's own past.
  [[nodiscard]] float rate(PageIndex page, std::uint32_t age) const {
    const auto n = static_cast<float>(uses(page));
    const float little = static_cast<float>(capacity_) / 10;
    return (n + 1) / (n * mean_interval(page) + static_cast<float>(age) + little);
  }
  [[nodiscard]] std::uint8_t queue_for(PageIndex page) const {
    const std::size_t kind =
        uses(page) == 0 ? ReuseTable::used_once : table_.kind_of(1 / rate(page, 0));
    return static_cast<std::uint8_t>(1 + kind);
  }
  [[nodiscard]] float expected_wait(PageIndex page, std::uint8_t queue) const {
    const std::uint32_t age = now_ - pages_[page].last_use;
    return table_.factor(queue - 1U, table_.age_of(age)) / rate(page, age);
  }

  /// The page, now in no queue, has been used: again, if it is known.
  void use(PageIndex page) {
    int n = 0;
    if (uses(page) >= 0) {
      const std::uint32_t age = now_ - pages_[page].last_use;
      table_.used(queue_for(page) - 1U, table_.age_of(age));
      n = count_interval(page, static_cast<float>(std::max<std::uint32_t>(1, age)));
    } else {
      set_mean_interval(page, 0);
    }
    pages_[page].last_use = now_;
    pages_.set_mark(page, static_cast<unsigned>(n + 1));
    pages_.push_back(queue_for(page), page);
  }

  /// Takes an interval into the page's mean; the uses that this is over from now on. What was
  /// before counts for less the longer the interval: half after eight turnovers of near memory.
  int count_interval(PageIndex page, float interval) {
    const float horizon = 8 * static_cast<float>(capacity_);
    const float before = static_cast<float>(uses(page)) * horizon / (horizon + interval);
    set_mean_interval(page, (before * mean_interval(page) + interval) / (before + 1));
    const int whole = static_cast<int>(before);
    const int nearest = before - static_cast<float>(whole) < 0.5F ? whole : whole + 1;
    return std::min(most_uses, nearest + 1);
  }

  /// Tells the table what time has passed for all pages, by a sample of at most two turnovers of
  /// near memory; another one each time.
  void learn() {
    const PageIndex stride = 1 + known_ / 2 / capacity_;
    const float time = static_cast<float>(since_learnt_) * static_cast<float>(stride);
    since_learnt_ = 0;
    first_learnt_ = (first_learnt_ + 1) % stride;
    for (PageIndex page = first_learnt_; page < known_; page += stride) {
      if (uses(page) < 0) continue;
      const std::uint32_t age = now_ - pages_[page].last_use;
      table_.passed(queue_for(page) - 1U, table_.age_of(age), time, rate(page, age));
    }
    table_.refresh();
  }

  ReuseTable table_;
  PageIndex capacity_ = 1;
  PageIndex known_ = 0;  // no page beyond has ever come
  std::uint32_t now_ = 0;
  PageIndex since_learnt_ = 0;
  PageIndex first_learnt_ = 0;
};

}  // namespace

Replacement& make_regret(ReplacementStorage& at, PageIndex capacity) {
  return make_at<Regret>(at, capacity);
}

}  // namespace nearfar::policy
