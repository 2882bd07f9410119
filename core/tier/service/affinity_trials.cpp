#include "tier/service/affinity_trials.h"

#include <algorithm>
#include <limits>

#include "tier/pager/sizes.h"

namespace nearfar::tier {
namespace {

constexpr unsigned most_doublings = 10;

}  // namespace

AffinityTrials::AffinityTrials(PagerCpu wanted) : tries_any_(wanted == PagerCpu::automatic) {
  if (wanted == PagerCpu::same) where_ = PagerCpu::same;
  if (wanted == PagerCpu::same_idle) where_ = PagerCpu::same_idle;
  if (wanted == PagerCpu::per_cpu) where_ = PagerCpu::per_cpu;
}

PagerCpu AffinityTrials::learnt(std::uint64_t now, std::uint64_t ran, std::size_t faults,
                                std::size_t ahead) {
  // From one time to the next, those are served that were learnt of at the first.
  if (last_faults_ != 0 && so_far_ >= left_out_in(now_at())) {
    served_.faults += last_faults_;
    served_.pages += last_faults_ + ahead;
    const std::uint64_t passed = now - last_;
    const std::uint64_t most = longest_ns * (last_faults_ + ahead / longest_run);
    const bool known = ran != 0 && last_ran_ != 0;
    const std::uint64_t ran_ns = known ? std::min(ran - last_ran_, passed) : 0;
    served_.ns += std::min(passed, most);
    served_.ran_ns += ran_ns;
    served_.waited_ns += std::min(passed - ran_ns, most);
  }
  so_far_ += last_faults_;
  last_ = now;
  last_ran_ = ran;
  last_faults_ = faults;
  if (!tries_any_) {
    const bool is_out = now < out_[index(where_)].until;
    return so_far_ >= faults_before && !is_out ? where_ : PagerCpu::any;
  }
  if (part_ != no_part) {
    try_out(now);
  } else if (next_trial_ != 0) {
    watch(now);
  } else if (so_far_ >= faults_before || waits_early()) {
    begin_trial(now);
  }
  return now_at();
}

/// The program does little but wait, and has waited for long. One that fills memory is not waited
/// for: what it does next is to be tried.
bool AffinityTrials::waits_early() const {
  return served_.waited_ns >= ns_before && !served_.runs_long();
}

void AffinityTrials::several(bool fault, std::uint64_t now) {
  if (fault == several_) return;
  several_ = fault;
  joined(now);
}

void AffinityTrials::joined(std::uint64_t now) {
  confidence_ = 1;
  if (next_trial_ != 0) next_trial_ = std::min(next_trial_, now + soonest_ns);
}

void AffinityTrials::starved(std::uint64_t now) {
  if (now_at() == PagerCpu::any) return;  // nothing better is known
  Out& out = out_[index(now_at())];
  const bool again = tries_any_ && out.ns != 0 && now < out.until + out.ns;
  out.ns = again ? std::min(2 * out.ns, latest_ns) : first_out_ns;
  out.until = now + out.ns;
  // Whoever wants the processor all the time would be sent to another one if that were idle, so
  // none is, to serve faults while the program goes on.
  if (now_at() == PagerCpu::same_idle) out_[index(PagerCpu::any)].until = out.until;
  if (tries_any_) begin_trial(now);
}

/// The first way, then the others, and all of them once more in reverse order.
PagerCpu AffinityTrials::tried_in(std::size_t part) const {
  const std::size_t turn = std::min(part, parts - 1 - part);
  const auto first = index(first_);
  if (turn == 0) return first_;
  return static_cast<PagerCpu>((turn <= first ? turn - 1 : turn) +
                               static_cast<std::size_t>(PagerCpu::any));
}

void AffinityTrials::try_out(std::uint64_t now) {
  if (served_.faults < compared_in(now_at()) && !takes_too_long() && !waits_hopelessly()) return;
  Served& took = took_[index(now_at())];
  const bool by_run = took.runs_long() && served_.runs_long();
  if (took.pages == 0 || served_.costs(by_run) < took.costs(by_run)) took = served_;
  best_ns_ = best_ns_ == 0 ? served_.page_ns() : std::min(best_ns_, served_.page_ns());
  begin_part(part_ + 1, now);
}

/// Whether this part has taken several times what all of it would in the best way so far; or, where
/// it is a long one, a quarter of it has.
bool AffinityTrials::takes_too_long() const {
  if (served_.faults == 0 || served_.runs_long()) return false;
  const std::size_t all = compared_in(now_at());
  const std::size_t some = now_at() == PagerCpu::per_cpu ? std::max(served_.faults, all / 4) : all;
  // With as many pages for each of the faults to come.
  return served_.ns > hopeless_if * (some * served_.pages / served_.faults * best_ns_) &&
         best_ns_ != 0;
}

/// Where who faults runs for long: it waits many times as long as in the best way so far.
bool AffinityTrials::waits_hopelessly() const {
  if (!served_.runs_long() || served_.waited_ns < hopeless_wait_ns) return false;
  const double cost = served_.costs(true);
  return std::any_of(took_.begin(), took_.end(), [&](const Served& took) {
    return took.runs_long() && took.faults >= compared && cost > hopeless_wait * took.costs(true);
  });
}

/// Whether it is time for another trial.
void AffinityTrials::watch(std::uint64_t now) {
  if (served_.faults >= compared) {
    slow_ = is_suspicious(now) ? slow_ + 1 : 0;
    served_ = {};
    if (slow_ == often_enough) {
      if (confidence_ == 1) unconfirmed_ns_ = std::min(2 * unconfirmed_ns_, soonest_ns);
      next_trial_ = now;
      expected_ns_ = 0;  // of another time: it makes nothing hopeless
    }
  }
  if (now >= next_trial_) begin_trial(now);
}

/// Whether pages take many times what was expected, and have had the time to.
bool AffinityTrials::is_suspicious(std::uint64_t now) const {
  const bool confirmed = confidence_ > 1;
  const std::uint64_t most = expected_ns_ * (confirmed ? suspicious : suspicious_if_unconfirmed);
  return most != 0 && served_.page_ns() > most &&
         now > settled_ + (confirmed ? soonest_ns : unconfirmed_ns_);
}

void AffinityTrials::begin_trial(std::uint64_t now) {
  took_ = {};
  slow_ = 0;
  best_ns_ = expected_ns_;
  if (next_trial_ != 0) first_ = where_;
  begin_part(0, now);
}

void AffinityTrials::begin_part(std::size_t part, std::uint64_t now) {
  const auto is_out = [&](PagerCpu where) {
    return now < out_[index(where)].until || (where == PagerCpu::per_cpu && !several_);
  };
  so_far_ = 0;
  last_faults_ = 0;
  served_ = {};
  part_ = part;
  while (part_ != no_part && is_out(now_at())) ++part_;
  if (part_ == no_part) settle(now);
}

/// The program did one thing while one way was tried, and another while another was.
void AffinityTrials::settle_later(std::uint64_t now) {
  confidence_ = 1;
  expected_ns_ = 0;
  settled_ = now;
  next_trial_ = now + std::min(soonest_ns << in_vain_, latest_ns);
  if (in_vain_ < most_doublings) ++in_vain_;
  try_when_back(now);
}

/// Who is out is tried when it is not any more.
void AffinityTrials::try_when_back(std::uint64_t now) {
  for (const Out& out : out_)
    if (now < out.until) next_trial_ = std::min(next_trial_, out.until);
}

void AffinityTrials::settle(std::uint64_t now) {
  bool any_long = false;
  bool any_little = false;
  for (const Served& took : took_) {
    any_long = any_long || (took.pages != 0 && took.runs_long());
    any_little = any_little || (took.pages != 0 && took.runs_little());
  }
  if (any_long && any_little) {
    settle_later(now);
    return;
  }
  in_vain_ = 0;
  const bool by_run = std::all_of(took_.begin(), took_.end(), [](const Served& took) {
    return took.pages == 0 || took.runs_long();
  });
  const auto costs = [&](PagerCpu way) {
    const Served& took = took_[index(way)];
    if (took.pages == 0) return std::numeric_limits<double>::max();
    const double cost = took.costs(by_run);
    return way == PagerCpu::any ? cost + cost / another_costs : cost;
  };
  auto found = PagerCpu::any;
  for (const PagerCpu way : {PagerCpu::same, PagerCpu::same_idle, PagerCpu::per_cpu})
    if (costs(way) < costs(found)) found = way;
  const Served& best = took_[index(found)];
  const double least = best.pages == 0 ? 0 : best.costs(by_run);
  std::uint64_t lost = 0;  // by one part in each way, but for those left out
  for (const Served& took : took_) lost += took.lost(least, by_run);
  lost = 2 * lost * (left_out + compared) / compared;
  const bool first = next_trial_ == 0;  // nothing has found `where_` before
  confidence_ = found == where_ && !first ? std::min(2 * confidence_, most_confidence) : 1;
  if (confidence_ > 1) unconfirmed_ns_ = soonest_if_unconfirmed_ns;
  where_ = found;
  expected_ns_ = best.pages == 0 ? 0 : best.page_ns();
  settled_ = now;
  const std::uint64_t worth = std::max(lost * loss_is_worth, soonest_ns);
  const std::uint64_t latest = confidence_ > 1 ? latest_ns : latest_if_unconfirmed_ns;
  next_trial_ = now + std::min(worth * confidence_, latest);
  try_when_back(now);
}

}  // namespace nearfar::tier
