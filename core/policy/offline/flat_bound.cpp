#include "policy/offline/flat_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "base/error.h"

namespace nearfar::policy {
namespace {

/// What near memory saves for each page in each interval in which it is used, in picoseconds.
class Savings {
 public:
  struct Use {
    std::uint32_t interval = 0;
    double saved = 0;
  };

  Savings(const Touches& touches, const FlatCosts& costs)
      : starts_(touches.pages() + std::size_t{1}) {
    // Twice over: the first time counts, the second fills in.
    for (const bool counts : {true, false}) {
      std::vector<std::uint32_t> last(touches.pages(), never_used);
      std::uint64_t steps = 0;
      for (const Touches::Touch touch : touches.all()) {
        if (touch.is_steps()) {
          steps += touch.value();
          continue;
        }
        const PageIndex page = touch.value();
        const auto interval = static_cast<std::uint32_t>(steps / Touches::steps_a_decision);
        const bool again = last[page] == interval;
        last[page] = interval;
        if (counts) {
          if (!again) ++starts_[page + 1];
          continue;
        }
        if (!again) uses_[starts_[page]++] = {.interval = interval, .saved = 0};
        uses_[starts_[page] - 1].saved +=
            static_cast<double>((touch.write() ? costs.far_write : costs.far_read).ps());
      }
      if (counts) {
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        uses_.resize(starts_.back());
      }
    }
    // Each start has become the next one's.
    std::rotate(starts_.begin(), starts_.end() - 1, starts_.end());
    starts_.front() = 0;
  }

  [[nodiscard]] PageIndex pages() const { return static_cast<PageIndex>(starts_.size() - 1); }
  [[nodiscard]] std::span<const Use> of(PageIndex page) const {
    return std::span(uses_).subspan(starts_[page], starts_[page + 1] - starts_[page]);
  }

 private:
  static constexpr std::uint32_t never_used = ~std::uint32_t{0};

  std::vector<std::size_t> starts_;
  std::vector<Use> uses_;
};

/// Prices of the two limits, and what all pages together choose at them.
class Market {
 public:
  Market(const Savings& savings, const FlatOptions& options, std::size_t intervals)
      : savings_(savings),
        near_(options.near),
        pairs_(static_cast<double>(options.pairs)),
        move_(static_cast<double>(options.costs.exchange.ps()) / 2),
        places_(intervals),
        moves_(intervals),
        sums_(intervals + 1),
        entries_(intervals),
        near_pages_(intervals + 1),
        promotions_(intervals) {}

  /// Begins with one price for all places.
  void begin(double place) { std::ranges::fill(places_, place); }

  /// What is saved at these prices at most, by any sequence; finds the demand too.
  double bound() {
    std::ranges::fill(near_pages_, 0);
    std::ranges::fill(promotions_, 0);
    price();
    double sum = 0;
    for (PageIndex page = 0; page < savings_.pages(); ++page) sum += choose(savings_.of(page));
    std::partial_sum(near_pages_.begin(), near_pages_.end(), near_pages_.begin());
    for (std::size_t at = 0; at < places_.size(); ++at) {
      sum += places_[at] * near_ + moves_[at] * pairs_;
    }
    return sum;
  }

  /// Prices rise where more is wanted than there is, and fall where less is.
  void follow_demand(double gap) {
    double squares = 0;
    for (std::size_t at = 0; at < places_.size(); ++at) {
      squares += std::pow(near_pages_[at] - near_, 2) + std::pow(promotions_[at] - pairs_, 2);
    }
    if (squares == 0) return;
    const double step = gap / squares;
    for (std::size_t at = 0; at < places_.size(); ++at) {
      places_[at] = std::max(0.0, places_[at] + step * (near_pages_[at] - near_));
      moves_[at] = std::max(0.0, moves_[at] + step * (promotions_[at] - pairs_));
    }
  }

  [[nodiscard]] const std::vector<double>& places() const { return places_; }

 private:
  /// The best choice of one page between two uses: it was near at the use before and stayed, or it
  /// came in for this one.
  struct Choice {
    bool came = false;  // for this use, to be near
    bool was_near = false;  // at the use before; for being far now, too
    bool left = false;  // before being far now
  };

  void price() {
    double entry = 0;
    for (std::size_t at = 0; at < places_.size(); ++at) {
      sums_[at + 1] = sums_[at] + places_[at];
      // A page may come in earlier than it must, when fewer others do, and pay for its place.
      entry = at == 0 ? moves_[0] : std::min(moves_[at], entry + places_[at - 1]);
      entries_[at] = entry;
    }
  }

  double choose(std::span<const Savings::Use> uses) {
    choices_.resize(uses.size());
    // At its first touch a page may be placed in either tier.
    double near = uses[0].saved - places_[uses[0].interval];
    double far = 0;
    for (std::size_t at = 1; at < uses.size(); ++at) {
      const std::uint32_t now = uses[at].interval;
      Choice& choice = choices_[at];
      const double stays = near - (sums_[now] - sums_[uses[at - 1].interval + 1]);
      const double away = std::max(far, near - move_);
      choice.left = near - move_ > far;
      const double comes = away - move_ - entries_[now];
      choice.came = comes > stays;
      near = std::max(stays, comes) + uses[at].saved - places_[now];
      far = away;
    }
    mark(uses, near > far);
    return std::max(near, far);
  }

  /// Adds the choice of a page to the demand, from its last use back.
  void mark(std::span<const Savings::Use> uses, bool near) {
    for (std::size_t at = uses.size(); at-- > 0;) {
      const std::uint32_t now = uses[at].interval;
      if (near) occupy(now, now + 1);
      if (at == 0) return;
      const Choice& choice = choices_[at];
      if (near && !choice.came) {
        occupy(uses[at - 1].interval + 1, now);
        continue;
      }
      if (near) enter(now);
      near = choice.left;
    }
  }
  void enter(std::uint32_t now) {
    std::uint32_t at = now;
    while (at > 0 && entries_[at] < moves_[at]) --at;
    promotions_[at] += 1;
    occupy(at, now);
  }
  void occupy(std::uint32_t from, std::uint32_t to) {
    near_pages_[from] += 1;
    near_pages_[to] -= 1;
  }

  const Savings& savings_;
  double near_;
  double pairs_;
  double move_;
  std::vector<double> places_;  // price of a place in near memory, by interval
  std::vector<double> moves_;  // of a promotion before it
  std::vector<double> sums_;  // of the prices of places before an interval
  std::vector<double> entries_;  // the cheapest way to be near from an interval on
  std::vector<double> near_pages_;  // wanted; changes first, then sums
  std::vector<double> promotions_;
  std::vector<Choice> choices_;
};

/// What the pages save that save most, if they are near for good.
double saved_by_hottest(const Savings& savings, PageIndex near, double& marginal) {
  std::vector<double> saved(savings.pages());
  for (PageIndex page = 0; page < savings.pages(); ++page) {
    for (const Savings::Use& use : savings.of(page)) saved[page] += use.saved;
  }
  std::ranges::sort(saved, std::greater<>());
  marginal = near < saved.size() ? saved[near] : 0;
  saved.resize(std::min<std::size_t>(near, saved.size()));
  return std::accumulate(saved.begin(), saved.end(), 0.0);
}

Tick less(Tick whole, double saved) {
  const double left = static_cast<double>(whole.ps()) - saved;
  return Tick(left <= 0 ? 0 : static_cast<std::uint64_t>(left));
}

}  // namespace

FlatBound flat_bound(const Touches& touches, const FlatOptions& options,
                     const std::function<void()>& ask) {
  constexpr int rounds = 200;
  constexpr int patience = 8;  // rounds without a better bound before steps are made shorter
  if (options.near == 0) throw InputError("near: found 0 pages, expected at least one");
  const Savings savings(touches, options.costs);
  const auto intervals = static_cast<std::size_t>(touches.intervals());
  Market market(savings, options, intervals);
  double marginal = 0;
  const double hottest = saved_by_hottest(savings, options.near, marginal);
  const double all = static_cast<double>(all_far(touches, options.costs).ps());
  market.begin(marginal / static_cast<double>(intervals));
  double best = all;
  double aim = 0.3;  // how far below the best bound the next may be, as a part of it
  int waited = 0;
  for (int round = 0; round < rounds; ++round) {
    const double bound = market.bound();
    if (bound < best) {
      waited = bound < best * 0.9999 ? 0 : waited + 1;
      best = bound;
    } else {
      ++waited;
    }
    if (waited >= patience) {
      aim /= 2;
      waited = 0;
    }
    market.follow_demand(std::max(0.0, bound - best + aim * best));
    if (ask) ask();
  }
  return {.hottest = less(all_far(touches, options.costs), hottest),
          .sequence = less(all_far(touches, options.costs), best)};
}

}  // namespace nearfar::policy
