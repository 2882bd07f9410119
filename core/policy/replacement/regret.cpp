#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>

#include "policy/replacement/page_sample.h"
#include "policy/replacement/registry.h"
#include "policy/replacement/reuse_table.h"

namespace nearfar::policy {
namespace {

/// Times are in ticks, a 128th of a turnover of near memory.
struct RegretFacts {
  static constexpr std::uint32_t times = 1U << 14;  ///< told apart
  static constexpr std::uint32_t most_uses = (1U << 6) - 1;

  std::uint32_t last_use : 14 = 0;
  std::uint32_t interval : 12 = 0;  ///< a float of 1 + the mean, without what all have alike
  std::uint32_t uses : 6 = 0;  ///< 0: of a page that never came
};

struct RegretRecord : SampledRecord, RegretFacts {
  using Facts = RegretFacts;
};
static_assert(sizeof(RegretRecord) == 8);

/// Evicts the page that is worth least in near memory: that is expected to be used the fewest times
/// for the time that it would stay. No threshold says what is hot.
///
/// Of every page, near or far, three things are kept: when it was last known to be used, the mean
/// interval between its uses, and over how many uses that mean is. They give a rate, (uses + 1) /
/// (time observed + a little), which is what to expect of a page used at random; the little makes a
/// page that came just now neither hot nor cold. All faults, in particular of pages that were
/// evicted and should not have been, and all scans go into a table that says how far such rates can
/// be trusted. So it holds on to part of a loop that does not fit, lets a scan pass, counts like
/// LFU where use is random, and forgets a phase when pages of that kind stop returning.
///
/// A page that its own past hardly let expect to be away for so long is known too well: what was
/// counted before goes for less, and for nothing when chance cannot explain it.
///
/// To choose it draws eight resident pages, as a hand goes round them, and names the worst of those
/// and of the sixteen worst seen lately. What time has passed for pages it learns from eight others
/// at each fault, of all that it knows. So a fault and a choice take the same time however many
/// pages there are, and eight bytes a page are enough.
class Regret final : public SampledReplacement<RegretRecord> {
 public:
  explicit Regret(PageIndex capacity) { resize(capacity); }

  void fault(PageIndex page) override {
    known_ = std::max(known_, page + 1);
    if (++faults_in_tick_ >= tick_faults_) {
      faults_in_tick_ = 0;
      ++now_;
    }
    learn();
    use(page);
    enter(page);
  }
  void second_chance(PageIndex page) override {
    use(page);
    enter(page);
  }
  void scanned(std::span<const Scanned> pages) override {
    for (const Scanned& found : pages) {
      if (found.accessed && mine(found.page)) use(found.page);
    }
  }
  void moved(PageIndex from, PageIndex to) override {
    known_ = std::max(known_, to + 1);
    SampledReplacement::moved(from, to);
  }

  void resize(PageIndex capacity) override {
    tick_faults_ = std::max<PageIndex>(1, capacity / 128);
    turnover_ = static_cast<float>(capacity) / static_cast<float>(tick_faults_);
    refresh_faults_ = std::max<PageIndex>(least_refresh_faults, capacity / 8);
  }

 private:
  PageIndex choose() override {
    keep_candidates();
    PageIndex draws = std::min<PageIndex>(drawn, choices());
    if (count_ == 0) draws = std::min<PageIndex>(candidates, choices());
    for (; draws > 0; --draws) consider(draw());
    const std::size_t worst = extreme(std::less<>());
    const PageIndex page = candidates_[worst].page;
    candidates_[worst] = candidates_[--count_];
    return page;
  }
  void readmitted(PageIndex page) override { (*this)[page].last_use = now_ % RegretFacts::times; }

  struct Candidate {
    PageIndex page;
    float worth;
  };

  static constexpr PageIndex drawn = 8;
  static constexpr std::size_t candidates = 16;
  static constexpr PageIndex learnt = 8;
  static constexpr PageIndex least_refresh_faults = 32;

  /// Those that are still resident, at what they are worth now.
  void keep_candidates() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const PageIndex page = candidates_[i].page;
      if (mine(page)) candidates_[kept++] = {page, worth(page)};
    }
    count_ = kept;
  }
  void consider(PageIndex page) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (candidates_[i].page == page) return;
    }
    const Candidate found{page, worth(page)};
    if (count_ < candidates) {
      candidates_[count_++] = found;
      return;
    }
    const std::size_t best = extreme(std::greater<>());
    if (found.worth < candidates_[best].worth) candidates_[best] = found;
  }
  /// The candidate whose worth comes before that of all others.
  template <typename Before>
  [[nodiscard]] std::size_t extreme(Before before) const {
    std::size_t found = 0;
    for (std::size_t i = 1; i < count_; ++i) {
      if (before(candidates_[i].worth, candidates_[found].worth)) found = i;
    }
    return found;
  }

  [[nodiscard]] unsigned intervals(PageIndex page) const { return (*this)[page].uses - 1; }
  [[nodiscard]] float age(PageIndex page) const {
    return static_cast<float>((now_ - (*this)[page].last_use) % RegretFacts::times);
  }
  [[nodiscard]] float mean_interval(PageIndex page) const {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(1.0F) + ((*this)[page].interval << 15);
    return std::bit_cast<float>(bits) - 1;
  }
  void set_mean_interval(PageIndex page, float interval) {
    // To the nearest; the highest that fits is beyond all times.
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(interval + 1) + (1U << 14);
    (*this)[page].interval = ((bits - std::bit_cast<std::uint32_t>(1.0F)) >> 15) & 0xFFFU;
  }

  [[nodiscard]] float little() const { return turnover_ * 0.4F; }
  /// Uses in a time, as guessed from the page's own past.
  [[nodiscard]] float rate(PageIndex page, float age) const {
    const auto n = static_cast<float>(intervals(page));
    return (n + 1) / (n * mean_interval(page) + age + little());
  }
  [[nodiscard]] std::size_t kind(PageIndex page) const {
    return ReuseTable::kind_of(1 / rate(page, 0), intervals(page));
  }
  [[nodiscard]] float worth(PageIndex page) const {
    const float time = age(page);
    return table_.worth(kind(page), ReuseTable::age_of(time)) * rate(page, time);
  }

  /// The page has been used: again, if it is known.
  void use(PageIndex page) {
    RegretRecord& record = (*this)[page];
    if (record.uses == 0) {
      record.uses = 1;
    } else {
      const float time = age(page);
      table_.used(kind(page), ReuseTable::age_of(time));
      count_interval(page, time);
    }
    record.last_use = now_ % RegretFacts::times;
  }

  /// Takes an interval into the page's mean. What was before counts for less the longer the
  /// interval, half after 64 turnovers of near memory, and the less it let expect it.
  void count_interval(PageIndex page, float interval) {
    RegretRecord& record = (*this)[page];
    const float horizon = 64 * turnover_;
    const float before = static_cast<float>(intervals(page)) * horizon / (horizon + interval) *
                         explained(page, interval);
    const auto whole = static_cast<std::uint32_t>(std::floor(before + 0.5F));
    if (intervals(page) != 0 && whole == 0) {
      record.uses = 1;
      record.interval = 0;
      return;
    }
    set_mean_interval(page, (before * mean_interval(page) + interval) / (before + 1));
    record.uses = std::min(RegretFacts::most_uses, whole + 2) & RegretFacts::most_uses;
  }

  /// How likely it is that a page stays away so long by chance, against one in a thousand that its
  /// rate has changed: for a rate that itself is guessed from n intervals of mean m the chance is
  /// (1 + interval / (n m))^-(n + 1).
  [[nodiscard]] float explained(PageIndex page, float interval) const {
    const auto n = static_cast<float>(intervals(page));
    float power = 1 + interval / (n * mean_interval(page) + little());
    float inverse = 1;
    for (unsigned left = intervals(page) + 1; left != 0; left /= 2) {
      if (left % 2 != 0) inverse *= power;
      power *= power;
      if (power > 1e9F) power = 1e9F;
      if (inverse > 1e9F) return 0;
    }
    return 1 / (1 + changed * inverse);
  }
  static constexpr float changed = 0.001F;

  /// Tells the table what time has passed for all pages, by a sample that goes round.
  void learn() {
    const PageIndex looks = std::min(learnt, known_);
    const float time = static_cast<float>(known_) / static_cast<float>(looks * tick_faults_);
    for (PageIndex i = 0; i < looks; ++i) {
      const PageIndex page = next_learnt_;
      next_learnt_ = page + 1 < known_ ? page + 1 : 0;
      if ((*this)[page].uses == 0) continue;
      const float since = age(page);
      // Before the time of last use comes round and seems to be just now.
      if (since > 0.75F * RegretFacts::times) {
        (*this)[page].last_use = (now_ - RegretFacts::times * 3 / 4) % RegretFacts::times;
      }
      table_.passed(kind(page), ReuseTable::age_of(since), time, rate(page, since));
    }
    refresh_due_ += ReuseTable::kinds;
    for (; refresh_due_ >= refresh_faults_; refresh_due_ -= refresh_faults_) {
      table_.refresh(next_refreshed_);
      next_refreshed_ = (next_refreshed_ + 1) % ReuseTable::kinds;
    }
  }

  ReuseTable table_;
  std::array<Candidate, candidates> candidates_{};
  std::size_t count_ = 0;
  PageIndex tick_faults_ = 1;
  float turnover_ = 1;  // in ticks
  std::uint32_t now_ = 0;
  PageIndex faults_in_tick_ = 0;
  PageIndex known_ = 0;  // no page beyond has ever come
  PageIndex next_learnt_ = 0;
  PageIndex refresh_faults_ = 1;  // in which all kinds are refreshed once
  PageIndex refresh_due_ = 0;
  std::size_t next_refreshed_ = 0;
};

}  // namespace

Replacement& make_regret(ReplacementStorage& at, PageIndex capacity) {
  return make_at<Regret>(at, capacity);
}

}  // namespace nearfar::policy
