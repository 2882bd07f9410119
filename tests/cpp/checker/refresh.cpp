#include <optional>
#include <vector>

#include "passes.h"

namespace nearfar::checker {
namespace {

// A REF as the refresh budget sees it. The device refreshes itself in self refresh, and
// "the number of postponed or pulled-in REF commands does not change" meanwhile (JESD79-4,
// refresh command), so the budget's clock counts only the time spent outside.
struct Refresh {
  std::size_t at;
  std::uint64_t awake_ps;
};

class RankBudget {
 public:
  RankBudget(const Trace& trace, const Limits& limits, Report& report)
      : trace_(trace), limits_(limits), report_(report) {}

  void enter_self_refresh(std::uint64_t ps) {
    if (!asleep_since_) asleep_since_ = ps;
  }

  void leave_self_refresh(std::uint64_t ps) {
    if (asleep_since_) asleep_ps_ += ps - *asleep_since_;
    asleep_since_.reset();
  }

  void refresh(std::size_t at) {
    const Refresh now{at, awake(trace_[at].ps)};
    const std::uint64_t number = done_.size() + 1;  // the number-th REF is due at number tREFI
    check_deadlines(at, now.awake_ps);
    if (number > limits_.refresh_slack) {
      report_.at_least(Rule::refresh_pulled_in, at, last(), now.awake_ps,
                       (number - limits_.refresh_slack) * limits_.refi);
    }
    const std::uint64_t most = 2 * limits_.refresh_slack;  // "a maximum of 16 ... within 2 tREFI"
    if (done_.size() >= most) {
      const Refresh& first = done_[done_.size() - most];
      report_.at_least(Rule::refresh_burst, at, first.at, now.awake_ps - first.awake_ps,
                       2 * limits_.refi);
    }
    done_.push_back(now);
  }

  // The trace stops: is a REF already too late?
  void finish(std::size_t last_at) { check_deadlines(last_at, awake(trace_[last_at].ps)); }

 private:
  [[nodiscard]] std::uint64_t awake(std::uint64_t ps) const {
    return asleep_since_.value_or(ps) - asleep_ps_;
  }

  [[nodiscard]] std::optional<std::size_t> last() const {
    if (done_.empty()) return std::nullopt;
    return done_.back().at;
  }

  // What the next REF must not come later than.
  void check_deadlines(std::size_t at, std::uint64_t awake_ps) {
    const std::uint64_t number = done_.size() + 1;
    report_.at_most(Rule::refresh_postponed, at, last(), awake_ps,
                    (number + limits_.refresh_slack) * limits_.refi);
    const std::uint64_t since = done_.empty() ? 0 : done_.back().awake_ps;
    report_.at_most(Rule::refresh_gap, at, last(), awake_ps - since,
                    (1 + limits_.refresh_slack) * limits_.refi);
  }

  const Trace& trace_;
  const Limits& limits_;
  Report& report_;
  std::vector<Refresh> done_{};
  std::optional<std::uint64_t> asleep_since_{};
  std::uint64_t asleep_ps_ = 0;
};

}  // namespace

void check_refresh(const Trace& trace, const Limits& limits, Report& report) {
  if (limits.refi == 0 || trace.empty()) return;
  std::vector<RankBudget> ranks(limits.ranks, RankBudget(trace, limits, report));
  std::size_t last_at = 0;
  for (std::size_t at = 0; at < trace.size(); ++at) {
    const BusCommand& c = trace[at];
    if (c.ps < trace[last_at].ps) continue;  // time_order says so
    last_at = at;
    if (c.rank >= limits.ranks) continue;
    RankBudget& rank = ranks[c.rank];
    if (c.command == Command::ref) rank.refresh(at);
    if (c.command == Command::sre) rank.enter_self_refresh(c.ps);
    if (c.command == Command::srx) rank.leave_self_refresh(c.ps);
  }
  for (RankBudget& rank : ranks) rank.finish(last_at);
}

}  // namespace nearfar::checker
