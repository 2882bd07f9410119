#include <algorithm>
#include <optional>
#include <vector>

#include "passes.h"

namespace nearfar::checker {
namespace {

// One rank's account of refreshes due and done.
//
// A REF falls due every tREFI. In self refresh the device sees to itself and "the number of
// postponed or pulled-in REF commands does not change" (JESD79-4, refresh command), so the
// account's clock stands still. It also "initiates a minimum of one refresh command
// internally" on entry (self-refresh operation), which settles the tREFI that had begun:
// the clock goes on from the last whole one. The extra REF that must follow an exit may
// count as one of those due, or not.
class RankAccount {
 public:
  RankAccount(const Trace& trace, const Limits& limits, Report& report)
      : trace_(trace), limits_(limits), report_(report) {}

  void enter_self_refresh(std::uint64_t ps) {
    if (asleep_) return;
    const std::uint64_t refi_ps = limits_.refi * limits_.clock_ps;
    settled_ = clock(ps) / refi_ps * refi_ps;
    last_clock_ = std::min(last_clock_, settled_);
    asleep_ = true;
  }

  void leave_self_refresh(std::uint64_t ps) {
    if (!asleep_) return;
    asleep_ = false;
    running_since_ = ps;
    ++exits_;
  }

  void refresh(std::size_t at) {
    const std::uint64_t now = clock(trace_[at].ps);
    const std::uint64_t number = done_.size() + 1;  // due at number tREFI
    check_deadlines(at);
    const std::uint64_t ahead = limits_.refresh_slack + exits_;
    if (number > ahead) {
      report_.at_least(Rule::refresh_pulled_in, at, last(), now, (number - ahead) * limits_.refi);
    }
    const std::uint64_t most = 2 * limits_.refresh_slack;  // "a maximum of 16 ... within 2 tREFI"
    if (done_.size() >= most) {
      const std::size_t first = done_[done_.size() - most];
      report_.at_least(Rule::refresh_burst, at, first, trace_[at].ps - trace_[first].ps,
                       2 * limits_.refi);
    }
    done_.push_back(at);
    last_clock_ = now;
  }

  // Is the next REF too late, if it comes with command `at` or after it?
  void check_deadlines(std::size_t at) {
    const std::uint64_t now = clock(trace_[at].ps);
    const std::uint64_t number = done_.size() + 1;
    report_.at_most(Rule::refresh_postponed, at, last(), now,
                    (number + limits_.refresh_slack) * limits_.refi);
    report_.at_most(Rule::refresh_gap, at, last(), now - last_clock_,
                    (1 + limits_.refresh_slack) * limits_.refi);
  }

 private:
  [[nodiscard]] std::uint64_t clock(std::uint64_t ps) const {
    return asleep_ ? settled_ : settled_ + (ps - running_since_);
  }

  [[nodiscard]] std::optional<std::size_t> last() const {
    if (done_.empty()) return std::nullopt;
    return done_.back();
  }

  const Trace& trace_;
  const Limits& limits_;
  Report& report_;
  std::vector<std::size_t> done_{};
  std::uint64_t last_clock_ = 0;  // of the last REF
  std::uint64_t settled_ = 0;
  std::uint64_t running_since_ = 0;
  std::uint64_t exits_ = 0;
  bool asleep_ = false;
};

}  // namespace

void check_refresh(const Trace& trace, const Limits& limits, Report& report) {
  if (limits.refi == 0 || trace.empty()) return;
  std::vector<RankAccount> ranks(limits.ranks, RankAccount(trace, limits, report));
  std::size_t last_at = 0;
  for (std::size_t at = 0; at < trace.size(); ++at) {
    const BusCommand& c = trace[at];
    if (c.ps < trace[last_at].ps) continue;  // time_order says so
    last_at = at;
    if (c.rank >= limits.ranks) continue;
    RankAccount& rank = ranks[c.rank];
    if (c.command == Command::ref) rank.refresh(at);
    if (c.command == Command::sre) rank.enter_self_refresh(c.ps);
    if (c.command == Command::srx) rank.leave_self_refresh(c.ps);
  }
  for (RankAccount& rank : ranks) rank.check_deadlines(last_at);
}

}  // namespace nearfar::checker
