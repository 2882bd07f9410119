#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "policy/placement/tiered_pages.h"
#include "policy/registry.h"

namespace nearfar::policy {
namespace {

/// What is known of a page.
struct HeatRecord {
  float heat = 0;            // marks in an interval, as they are expected to go on
  std::uint16_t marks = 0;   // samples, or scans that found it used, in this interval
  bool known : 1 = false;
  bool near : 1 = false;
  bool born_near : 1 = false;  // where it would be if nothing had ever moved
  bool hot : 1 = false;   // followed: of far memory, when it was among the hottest
  bool cold : 1 = false;  // followed: of near memory, when it could have made room for one
};

/// Pages by heat, to a sixteenth of an octave, so that they are ordered without being sorted.
class HeatScale {
 public:
  static constexpr std::size_t buckets = 720;

  static std::size_t bucket(float heat) {
    if (heat < lowest) return 0;
    const std::uint32_t above =
        std::bit_cast<std::uint32_t>(heat) - std::bit_cast<std::uint32_t>(lowest);
    return std::min<std::size_t>(1 + (above >> fraction), buckets - 1);
  }
  /// The least heat of a bucket.
  static float heat(std::size_t bucket) {
    if (bucket == 0) return 0;
    const auto above = static_cast<std::uint32_t>(bucket - 1) << fraction;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(lowest) + above);
  }

 private:
  static constexpr float lowest = 1.0F / 64;
  static constexpr unsigned fraction = 19;  // of the 23 bits of a float's fraction, four are kept
};

/// Exchanges pages where that pays: each exchange is weighed against what it saves for as long as
/// heat is seen to last.
///
/// * The heat of a page is how many marks (scans that find it used, or samples) it gets in an
///   interval, the latest interval counting a quarter. Counters of the two tiers say how many reads
///   there are to a mark; without counters a mark is one read.
/// * How long heat lasts is learned by following pages that would be exchanged, moved or not, for
///   up to eight decisions: what is left of the difference between the two sides, summed up, is for
///   how many decisions an exchange earns.
/// * Exchanges are paid for: the pages that moved earn what they save over the pages that made
///   room for them. No more exchanges are made than that pays for, and a small share of the time
///   that has passed. While that does not cover all that a decision may make, each has to pay by
///   the next decision. A program that does not gain loses little.
/// * Scans that lead to exchanges worth less than the scans cost are made half as often each time,
///   until the reads of far memory grow by more than a scan costs.
class Payback final : public TieredPages<HeatRecord> {
 public:
  using TieredPages::TieredPages;

  void costs(const Costs& costs) override {
    interval_ = static_cast<double>(costs.interval.ps());
    exchange_ = static_cast<double>(costs.exchange.ps());
    saved_ = static_cast<double>(costs.saved.ps());
    scan_ = static_cast<double>(costs.scan.ps());
  }
  void served(const Served& served) override {
    served_ = served;
    counts_reads_ = true;
  }

  void placed(PageIndex page, Tier tier) override {
    const HeatRecord before = at(page);
    HeatRecord& placed = put(page, tier);
    if (!before.known) placed.born_near = placed.near;
    if (before.known && !before.near && placed.near) account_ -= exchange_;
  }

  [[nodiscard]] bool needs_scans() const override { return rest_ == 0; }
  void scanned(std::span<const Scan> found) override {
    account_ -= scan_ * static_cast<double>(found.size());
    for (const Scan& scan : found) {
      HeatRecord& record = at(scan.page);
      counts_samples_ |= scan.samples != 0;
      const std::uint32_t marks = scan.samples != 0 ? scan.samples : std::uint32_t{scan.accessed};
      record.marks =
          static_cast<std::uint16_t>(std::min<std::uint32_t>(record.marks + marks, 65535));
    }
  }

  [[nodiscard]] std::size_t decide(std::span<Exchange> exchanges) override {
    ++decisions_;
    if (rest_ != 0) {
      --rest_;
      if (grew()) rest_ = 0;
      return 0;
    }
    observe();
    const std::size_t count = choose(exchanges);
    back_off();
    return count;
  }

 private:
  /// How often pages were used in an interval: of each tier, and of those that would be in the
  /// other if nothing had ever moved.
  struct Rates {
    double near = 0;
    double far = 0;
    double came_near = 0;
    double went_far = 0;

    void add(const HeatRecord& page, double rate) {
      (page.near ? near : far) += rate;
      if (page.near != page.born_near) (page.near ? came_near : went_far) += rate;
    }
  };

  /// Compares what was expected with what came, and counts pages by the heat that follows.
  void observe() {
    double expected_far = 0;
    double came = 0;
    Rates now;
    near_by_heat_.fill(0);
    far_by_heat_.fill(0);
    for (PageIndex page = 0; page < end(); ++page) {
      HeatRecord& record = at(page);
      if (!record.known) continue;
      if (record.hot) came += record.marks;
      if (record.cold) came -= record.marks;
      now.add(record, rate_now(record.marks));
      record.heat += (static_cast<float>(record.marks) - record.heat) * newest;
      record.marks = 0;
      const float found = rate(record.heat);
      if (!record.near) expected_far += static_cast<double>(found);
      ++(record.near ? near_by_heat_ : far_by_heat_)[HeatScale::bucket(found)];
    }
    follow(came);
    reads_ = reads_a_mark(served_.far, std::max(now.far, expected_far));
    // What the pages that moved have saved, less what those could have saved that made room.
    account_ += saved_ * (now.came_near * reads_a_mark(served_.near, now.near) -
                          now.went_far * reads_a_mark(served_.far, now.far));
  }
  /// What is left of the difference in heat between the pages that are followed. When they have
  /// been followed for long enough, the sum of it is for how many decisions an exchange earns, and
  /// as much again as is still left at the end for as long as they were followed.
  void follow(double came) {
    if (followed_heat_ <= 0) return;
    const double left = came / followed_heat_;
    followed_sum_ += left;
    if (++followed_for_ < follow_for_) return;
    const double lasted = std::max(0.0, followed_sum_ + left * followed_for_);
    lasts_ += (lasted - lasts_) * std::max(0.25, 1 / static_cast<double>(++cohorts_));
    follow_for_ = std::min(2 * follow_for_, longest_followed);
    followed_heat_ = 0;
  }
  /// How often a page is used in an interval, as far as scans tell: one that is found used in
  /// nearly all of them is used more often than they can count, by the odds of that.
  [[nodiscard]] float rate(float heat) const {
    if (counts_samples_) return heat;
    constexpr float scans = scans_a_decision;
    const float share = std::min(heat / scans, surest);
    return scans * share / (1 - share);
  }
  /// The same of one interval alone, in which few scans are little evidence.
  [[nodiscard]] double rate_now(std::uint16_t marks) const {
    if (counts_samples_) return marks;
    constexpr double scans = scans_a_decision;
    const double share = std::min<double>(marks, scans) / (scans + 1);
    return scans * share / (1 - share);
  }
  [[nodiscard]] double reads_a_mark(std::uint64_t reads, double marks) const {
    if (marks <= 0 || !counts_reads_) return 1;
    return static_cast<double>(reads) / marks;
  }

  /// By how much a difference in heat may be chance, two standard deviations, where pages of so
  /// much heat together were sampled: samples come independently of each other.
  [[nodiscard]] double doubt(float heat) const {
    if (!counts_samples_) return 0;
    constexpr double forgetting = newest / (2 - newest);  // variance of the mean over one's own
    return 2 * std::sqrt(forgetting * (static_cast<double>(heat) + forgetting));
  }
  /// The i-th hottest page of far memory for the i-th coldest of near memory, while it is hotter;
  /// returns how many of these pay.
  std::size_t choose(std::span<Exchange> exchanges) {
    double lasts = std::max(lasts_, followed_sum_);
    // Without means, what pays by the next decision; with plenty of them, that at least.
    if (purse() < exchange_) lasts = std::min(lasts, 1.0);
    if (purse() > plenty * exchange_ * static_cast<double>(exchanges.size()))
      lasts = std::max(lasts, 1.0);
    std::size_t hot = HeatScale::buckets - 1;
    std::size_t cold = 0;
    std::size_t count = 0;
    std::size_t paying = 0;
    double means = std::max(purse(), interval_ * risked_each);
    worth_ = 0;
    std::size_t hot_left = far_by_heat_[hot];
    std::size_t cold_left = near_by_heat_[cold];
    const std::size_t fits = room();
    while (count < exchanges.size()) {
      while (hot_left == 0 && hot > 0) hot_left = far_by_heat_[--hot];
      if (hot == 0) break;
      const bool free = count < fits;
      while (!free && cold_left == 0 && cold + 1 < hot) cold_left = near_by_heat_[++cold];
      if (!free && (cold_left == 0 || cold >= hot)) break;
      const float given_up = free ? 0 : HeatScale::heat(cold + 1);
      const float hottest = HeatScale::heat(hot);
      const double gained = hottest - given_up - doubt(hottest + given_up);
      std::size_t some = std::min(hot_left, exchanges.size() - count);
      some = std::min(some, free ? fits - count : cold_left);
      hot_left -= some;
      if (!free) cold_left -= some;
      count += some;
      const double each = gained * reads_ * saved_ * lasts - exchange_;
      if (each <= 0) continue;
      worth_ += each * static_cast<double>(some);
      if (means < exchange_) continue;
      const double cost = exchange_ * static_cast<double>(some);
      paying = means < cost ? count - some + static_cast<std::size_t>(means / exchange_) : count;
      means -= cost;
    }
    name(exchanges.first(count), fits);
    return paying;
  }

  /// Writes so many hottest pages and coldest pages, each in its place of the order by heat, and
  /// marks the hot ones to be followed.
  void name(std::span<Exchange> exchanges, std::size_t free) {
    const bool begins = followed_heat_ <= 0;
    if (begins) followed_sum_ = followed_for_ = 0;
    std::ranges::fill(exchanges, Exchange{});
    begin_at(far_by_heat_, true);
    begin_at(near_by_heat_, false);
    for (PageIndex page = 0; page < end(); ++page) {
      HeatRecord& record = at(page);
      if (!record.known) continue;
      if (begins) record.hot = record.cold = false;
      const std::size_t bucket = HeatScale::bucket(rate(record.heat));
      const std::size_t at = record.near ? free + near_by_heat_[bucket]++ : far_by_heat_[bucket]++;
      if (at >= exchanges.size()) continue;
      if (begins) {
        (record.near ? record.cold : record.hot) = true;
        followed_heat_ += static_cast<double>(record.near ? -record.heat : record.heat);
      }
      (record.near ? exchanges[at].demote : exchanges[at].promote) = page;
    }
  }
  /// From how many pages are in each bucket to how many come before it.
  static void begin_at(std::array<std::uint32_t, HeatScale::buckets>& counts, bool hottest_first) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      std::uint32_t& count = counts[hottest_first ? counts.size() - 1 - i : i];
      sum += count;
      count = sum - count;
    }
  }

  /// What may still be lost before anything is earned.
  [[nodiscard]] double purse() const {
    return account_ + interval_ * (risked_at_once + share_risked * static_cast<double>(decisions_));
  }
  [[nodiscard]] double scans() const { return scan_ * scans_a_decision * end(); }

  /// Scans that lead to exchanges worth less than they cost are made half as often each time, until
  /// all of them take no more than a small share of the time.
  void back_off() {
    if (worth_ > scans()) {
      idle_ = 0;
      return;
    }
    far_reads_ = served_.far;
    idle_ = std::min(idle_ + 1, 10U);
    const double rests = std::min(scans() / (share_scanned * interval_), (1U << idle_) / 4.0);
    rest_ = static_cast<unsigned>(rests);
  }
  /// Whether more is read from far memory than when scans stopped, by what a scan is worth.
  [[nodiscard]] bool grew() const {
    if (served_.far <= far_reads_ || purse() < scans()) return false;
    return static_cast<double>(served_.far - far_reads_) * saved_ > scans();
  }

  static constexpr float newest = 0.25F;  // weight of the latest interval in a page's heat
  static constexpr double longest_followed = 8;
  static constexpr double plenty = 2;
  static constexpr float surest = 0.97F;  // the share of scans beyond which more tell nothing
  // Of the time, for exchanges that have yet to earn; and of an interval, at the start.
  static constexpr double share_risked = 0.005;
  static constexpr double risked_at_once = 0.2;
  static constexpr double risked_each = 0.1;  // of an interval, in each decision without means
  static constexpr double share_scanned = 0.0025;  // of the time, by scans that lead to nothing

  std::uint64_t decisions_ = 0;
  double interval_ = 0;
  double exchange_ = 0;
  double saved_ = 0;
  double scan_ = 0;
  Served served_{};
  double account_ = 0;  // earned by exchanges, less what they and scans have cost
  double lasts_ = 0;  // decisions for which an exchange earns
  double worth_ = 0;  // of the exchanges chosen last
  // Pages that are followed: their difference in heat at first, what was left of it in all, for how
  // long they have been followed and are to be, and how often that was done.
  double followed_heat_ = 0;
  double followed_sum_ = 0;
  double followed_for_ = 0;
  double follow_for_ = 1;
  std::uint64_t cohorts_ = 0;
  double reads_ = 1;  // of far memory, to a mark
  bool counts_samples_ = false;
  bool counts_reads_ = false;
  std::uint64_t far_reads_ = 0;
  unsigned idle_ = 0;  // scanned decisions in turn that were not worth their scans
  unsigned rest_ = 0;  // decisions to come without scans
  std::array<std::uint32_t, HeatScale::buckets> near_by_heat_{};
  std::array<std::uint32_t, HeatScale::buckets> far_by_heat_{};
};

}  // namespace

Placement& make_payback(PolicyStorage& at, PageIndex near_pages) {
  return make_at<Payback>(at, near_pages);
}

}  // namespace nearfar::policy
