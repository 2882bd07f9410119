#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>

#include "policy/registry.h"
#include "policy/replacement/page_sample.h"
#include "policy/replacement/reuse_table.h"
#include "policy/replacement/stay_table.h"

namespace nearfar::policy {
namespace {

/// Times are in ticks, a 128th of a turnover of near memory.
struct RegretFacts {
  static constexpr std::uint32_t times = 1U << 13;  ///< told apart
  static constexpr std::uint32_t most_uses = (1U << 5) - 1;
  static constexpr unsigned cut = 18;  ///< off the end of the interval's float

  std::uint32_t last_use : 13 = 0;
  std::uint32_t interval : 9 =
      0;  ///< a float of 1 + the mean, without the bits that all have in common
  std::uint32_t uses : 5 = 0;  ///< 0: of a page that never came
  std::uint32_t stay : 5 = 0;  ///< how long it was resident last; only where nothing is scanned
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
/// Rates change, and those of many pages at once when a phase ends. An interval is as likely from a
/// page as it was, or more likely from one of which nothing is known; in that measure what was
/// counted before goes for less. How many of the last intervals showed a change is what the next
/// is judged by, so that amid others that change little evidence is enough, and a resident page
/// that has waited for longer than its past explains is given up sooner.
///
/// Of a resident page only scans say that it is not used. Where none come, a page is watched while
/// it is out: an interval begins when it leaves, and the table learns from pages that are not
/// resident. What was seen then is the less sure the longer the page has been in since. How much
/// less, a second table learns from the uses of pages after such stays; and a part of that time
/// goes as spent unused, more of it the more rates change.
///
/// A scan tells pages apart if it finds some used and others not. Where few miss, most are used
/// from one to the next, so there it asks for twice as many.
///
/// To choose it draws sixteen resident pages, as a hand goes round them, and names the worst of
/// those and of the sixteen worst seen lately. What time has passed for pages it learns from eight
/// others at each fault, of all that it knows. So a fault and a choice take the same time however
/// many pages there are, up to sixty-four times those of near memory; of more, the times of last
/// use are kept from coming round by a look at some more at each fault. Eight bytes a page are
/// enough.
class Regret final : public SampledReplacement<RegretRecord> {
 public:
  explicit Regret(PageIndex capacity) {
    candidates_.fill(no_page);
    resize(capacity);
  }

  void fault(PageIndex page) override {
    known_ = std::max(known_, page + 1);
    come_in(page);
  }
  void second_chance(PageIndex page) override { come_in(page); }
  void scanned(std::span<const Scan> pages) override {
    judged_ = false;
    is_scanned_ = true;
    std::size_t used = 0;
    for (const Scan& found : pages) {
      if (!found.accessed) continue;
      ++used;
      if (mine(found.page)) use(found.page);
    }
    plan_scans(static_cast<float>(used), static_cast<float>(pages.size()));
  }
  [[nodiscard]] unsigned scans_per_turnover() const override { return scans_; }
  void moved(PageIndex from, PageIndex to) override {
    known_ = std::max(known_, to + 1);
    SampledReplacement::moved(from, to);
  }

  void resize(PageIndex capacity) override {
    judged_ = false;
    tick_faults_ = std::max<PageIndex>(1, capacity / 128);
    turnover_ = static_cast<float>(capacity) / static_cast<float>(tick_faults_);
    refresh_faults_ = std::max<PageIndex>(least_refresh_faults, capacity / 8);
  }

 private:
  /// A second chance is a fault like any other: where a phase lives in limbo for long, others age.
  void come_in(PageIndex page) {
    judged_ = false;
    if (++faults_in_tick_ >= tick_faults_) {
      faults_in_tick_ = 0;
      ++now_;
    }
    learn();
    use(page);
    enter(page);
  }
  PageIndex choose() override {
    keep_candidates();
    PageIndex draws = std::min<PageIndex>(drawn, choices());
    if (count_ == 0) draws = std::min<PageIndex>(candidates, choices());
    for (; draws > 0; --draws) consider(draw());
    const std::size_t worst = extreme(std::less<>());
    const PageIndex page = candidates_[worst];
    candidates_[worst] = candidates_[--count_];
    worths_[worst] = worths_[count_];
    candidates_[count_] = no_page;
    if (!is_scanned_) watch(page);
    return page;
  }
  void readmitted(PageIndex page) override { set_used_now(page); }

  static constexpr unsigned least_scans = 4;
  static constexpr unsigned most_scans = 8;
  static constexpr float most_used = 0.6F;  // of all: else the next comes after half as long
  static constexpr float least_used = 0.4F;  // else it comes after as long as at first
  static constexpr PageIndex drawn = 16;
  static constexpr std::size_t candidates = 16;
  static constexpr PageIndex learnt = 8;
  static constexpr PageIndex least_refresh_faults = 32;
  static constexpr float endless = 1e9F;

  void plan_scans(float used, float all) {
    if (used > most_used * all) scans_ = most_scans;
    if (used < least_used * all) scans_ = least_scans;
  }

  /// Those that are still resident, at what they are worth now.
  void keep_candidates() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const PageIndex page = candidates_[i];
      if (!mine(page)) continue;
      worths_[kept] = judged_ ? worths_[i] : worth(page);
      candidates_[kept++] = page;
    }
    std::fill(candidates_.begin() + kept, candidates_.end(), no_page);
    count_ = kept;
    judged_ = true;
  }
  void consider(PageIndex page) {
    if (is_candidate(page)) return;
    const float found = worth(page);
    if (count_ < candidates) {
      candidates_[count_] = page;
      worths_[count_++] = found;
    } else if (found < worths_[best_]) {
      candidates_[best_] = page;
      worths_[best_] = found;
    } else {
      return;
    }
    if (count_ == candidates) best_ = extreme(std::greater<>());
  }
  [[nodiscard]] bool is_candidate(PageIndex page) const {
    // All places, so that the compiler compares several at once.
    std::uint32_t found = 0;
    for (const PageIndex candidate : candidates_) found |= candidate == page ? 1U : 0U;
    return found != 0;
  }
  /// The candidate whose worth comes before that of all others.
  template <typename Before>
  [[nodiscard]] std::size_t extreme(Before before) const {
    std::size_t found = 0;
    for (std::size_t i = 1; i < count_; ++i) {
      if (before(worths_[i], worths_[found])) found = i;
    }
    return found;
  }

  [[nodiscard]] unsigned intervals(PageIndex page) const { return (*this)[page].uses - 1; }
  [[nodiscard]] float age(PageIndex page) const {
    return static_cast<float>((now_ - (*this)[page].last_use) % RegretFacts::times);
  }
  [[nodiscard]] float mean_interval(PageIndex page) const {
    const std::uint32_t bits =
        std::bit_cast<std::uint32_t>(1.0F) + ((*this)[page].interval << RegretFacts::cut);
    return std::bit_cast<float>(bits) - 1;
  }
  void set_mean_interval(PageIndex page, float interval) {
    // To the nearest; the highest that fits is beyond all times.
    constexpr unsigned cut = RegretFacts::cut;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(interval + 1) + (1U << (cut - 1));
    (*this)[page].interval = ((bits - std::bit_cast<std::uint32_t>(1.0F)) >> cut) & 0x1FFU;
  }

  [[nodiscard]] float little() const { return turnover_ * (is_scanned_ ? 0.4F : 0.2F); }
  /// Of uses, as many as are taken to have happened in the time observed.
  [[nodiscard]] float seen(PageIndex page) const { return static_cast<float>((*this)[page].uses); }
  [[nodiscard]] float observed(PageIndex page) const {
    return (seen(page) - 1) * mean_interval(page) + little();
  }
  /// Uses in a time, as guessed from the page's own past.
  [[nodiscard]] float rate(PageIndex page, float age) const {
    return seen(page) / (observed(page) + age);
  }
  [[nodiscard]] std::size_t kind(PageIndex page) const { return kind(page, observed(page)); }
  [[nodiscard]] std::size_t kind(PageIndex page, float observed) const {
    return ReuseTable::kind_of(observed / seen(page), intervals(page));
  }
  [[nodiscard]] float worth(PageIndex page) const {
    const float past = observed(page);
    const float time = age(page);
    if (!is_scanned_) {
      const float unsure = 0.3F + 3 * change_;
      const float trust =
          table_.worth(kind(page, past), 0) * stays_.holds(ReuseTable::age_of(time));
      return trust * seen(page) / (past + unsure * time);
    }
    const float trust = table_.worth(kind(page, past), ReuseTable::age_of(time));
    // Odds that it has stopped, since it waits; a page seen once has no past to tell from.
    const float ended =
        intervals(page) == 0 ? 0 : change_ * power(1 + time / past, intervals(page) + 1);
    return trust * seen(page) / ((past + time) * (1 + ended));
  }

  /// The page has been used: again, if it is known.
  void use(PageIndex page) {
    RegretRecord& record = (*this)[page];
    if (record.uses == 0) {
      record.uses = 1;
    } else {
      const float time = age(page);
      table_.used(kind(page), ReuseTable::age_of(time));
      if (!is_scanned_) stays_.used(record.stay);
      count_interval(page, time);
    }
    set_used_now(page);
  }
  void set_used_now(PageIndex page) { (*this)[page].last_use = now_ % RegretFacts::times; }
  /// The page leaves, as if it had been used just now.
  void watch(PageIndex page) {
    (*this)[page].stay = ReuseTable::age_of(age(page)) & 0x1FU;
    set_used_now(page);
  }

  /// Takes an interval into the page's mean. What was before counts for less the longer the
  /// interval, half after 64 turnovers of near memory, and the likelier a change since.
  void count_interval(PageIndex page, float interval) {
    RegretRecord& record = (*this)[page];
    const float horizon = 64 * turnover_;
    const float before = static_cast<float>(intervals(page)) * horizon / (horizon + interval) *
                         unchanged(page, interval);
    const auto whole = static_cast<std::uint32_t>(std::floor(before + 0.5F));
    if (intervals(page) != 0 && whole == 0) {
      record.uses = 1;
      record.interval = 0;
      return;
    }
    set_mean_interval(page, (before * mean_interval(page) + interval) / (before + 1));
    record.uses = std::min(RegretFacts::most_uses, whole + 2) & RegretFacts::most_uses;
  }

  /// How likely the page's rate is still what its past tells, now that this interval came. A rate
  /// that itself is guessed, from n uses in a time T, leaves a page unused for t with a chance of
  /// (1 + t / T)^-n. The density that goes with it is compared with that of a page just seen first.
  /// What comes out is taken into the share of changes.
  [[nodiscard]] float unchanged(PageIndex page, float interval) {
    if (intervals(page) == 0) return 1;
    const float past = observed(page);
    const float of_new = 1 + interval / little();
    const float likelier = power(1 + interval / past, intervals(page) + 2) * past /
                           (seen(page) * little() * of_new * of_new);
    const float odds = change_ * likelier;
    const float changed = odds / (1 + odds);
    change_ = std::max(least_change, change_ + (changed - change_) / changes_meant);
    return 1 - changed;
  }
  /// Of a number from 1 on, up to the one that stands for endless.
  [[nodiscard]] static float power(float x, unsigned exponent) {
    float product = 1;
    for (; exponent != 0 && product < endless; exponent /= 2) {
      if (exponent % 2 != 0) product *= x;
      x = std::min(x * x, endless);
    }
    return std::min(product, endless);
  }
  static constexpr float least_change = 0.001F;
  static constexpr float changes_meant = 16;  // intervals

  /// Tells the table what time has passed for all pages, by a sample that goes round.
  void learn() {
    const PageIndex looks = std::min(learnt, known_);
    const float time = static_cast<float>(known_) / static_cast<float>(looks * tick_faults_);
    for (PageIndex i = 0; i < looks; ++i) {
      const PageIndex page = next_by_hand();
      if ((*this)[page].uses == 0) continue;
      const float since = age(page);
      keep_age(page, since);
      if (is_resident(page) && !is_scanned_) continue;
      learn_from(page, since, time);
    }
    // Of far more pages than near memory holds all must be passed before their times come round.
    const PageIndex needed = known_ / (RegretFacts::times / 8 * tick_faults_);
    for (PageIndex i = looks; i < needed; ++i) {
      const PageIndex page = next_by_hand();
      keep_age(page, age(page));
    }
    refresh_due_ += ReuseTable::kinds;
    for (; refresh_due_ >= refresh_faults_; refresh_due_ -= refresh_faults_) {
      table_.refresh(next_refreshed_);
      if (next_refreshed_ == 0) stays_.fade();
      next_refreshed_ = (next_refreshed_ + 1) % ReuseTable::kinds;
    }
  }

  PageIndex next_by_hand() {
    const PageIndex page = next_learnt_;
    next_learnt_ = page + 1 < known_ ? page + 1 : 0;
    return page;
  }
  /// Before the time of last use comes round and seems to be just now.
  void keep_age(PageIndex page, float since) {
    if (since > 0.75F * RegretFacts::times)
      (*this)[page].last_use = (now_ - RegretFacts::times * 3 / 4) % RegretFacts::times;
  }
  /// So much time has passed for pages such as this one.
  void learn_from(PageIndex page, float since, float time) {
    const std::size_t age = ReuseTable::age_of(since);
    const std::size_t kind_of_page = kind(page);
    const float guess = rate(page, since);
    if (!is_scanned_) {
      stays_.promised((*this)[page].stay, time * guess * table_.trust(kind_of_page, age));
    }
    table_.passed(kind_of_page, age, time, guess);
  }

  ReuseTable table_;
  StayTable stays_;
  float change_ = least_change;  // the share of late intervals that tell of a change
  std::array<PageIndex, candidates> candidates_;  // from `count_` on no_page
  std::array<float, candidates> worths_{};
  std::size_t count_ = 0;
  std::size_t best_ = 0;  // of as many candidates as there may be
  bool judged_ = false;  // all candidates, and nothing happened since
  bool is_scanned_ = false;  // what is resident
  unsigned scans_ = least_scans;
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

Replacement& make_regret(PolicyStorage& at, PageIndex capacity) {
  return make_at<Regret>(at, capacity);
}

}  // namespace nearfar::policy
