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
//
// A REFSB is the share of a REF that falls to the banks of one number: a REF may be replaced by
// one for every number (JESD79-5, refresh operation). The account is kept in such shares.
class RankAccount {
 public:
  RankAccount(const Trace& trace, const Limits& limits, Report& report)
      : trace_(trace),
        limits_(limits),
        report_(report),
        shares_(limits.ddr5 ? limits.banks : 1),
        last_clock_(shares_) {}

  void enter_self_refresh(std::uint64_t ps) {
    if (asleep_) return;
    const std::uint64_t refi_ps = limits_.refi * limits_.clock_ps;
    settled_ = clock(ps) / refi_ps * refi_ps;
    for (std::uint64_t& clock : last_clock_) clock = std::min(clock, settled_);
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
    check_deadlines(at);
    const std::uint64_t before = total();
    done_.push_back({at, before, before + take_part(at, now)});
    const std::uint64_t ahead = (limits_.refresh_slack + exits_) * limits_.refi;
    const std::uint64_t due = total() * limits_.refi / shares_;
    if (due > ahead) {
      report_.at_least(Rule::refresh_pulled_in, at, last_but_one(), now, due - ahead);
    }
    // "A maximum of 16 REF within 2 tREFI", of DDR5 in normal mode 8.
    const std::uint64_t most = 2 * limits_.refresh_slack * shares_;
    for (std::size_t i = done_.size(); i-- > 0 && total() > most;) {
      if (done_[i].before >= total() - most) continue;
      const std::size_t first = done_[i].at;
      report_.at_least(Rule::refresh_burst, at, first, trace_[at].ps - trace_[first].ps,
                       2 * limits_.refi);
      break;
    }
  }

  // Is the next REF, or the first share of it, too late if it comes with command `at` or after it?
  void check_deadlines(std::size_t at) {
    const std::uint64_t now = clock(trace_[at].ps);
    const std::uint64_t number = total() / shares_ + 1;  // due at number tREFI
    report_.at_most(Rule::refresh_postponed, at, last(), now,
                    (number + limits_.refresh_slack) * limits_.refi);
    for (const std::uint64_t clock : last_clock_) {
      report_.at_most(Rule::refresh_gap, at, last(), now - clock,
                      (1 + limits_.refresh_slack) * limits_.refi);
    }
  }

 private:
  [[nodiscard]] std::uint64_t clock(std::uint64_t ps) const {
    return asleep_ ? settled_ : settled_ + (ps - running_since_);
  }

  // Notes which banks the command refreshes; how many shares of a REF that is.
  std::uint64_t take_part(std::size_t at, std::uint64_t now) {
    if (trace_[at].command == Command::ref) {
      std::fill(last_clock_.begin(), last_clock_.end(), now);
      round_ = 0;
      return shares_;
    }
    const std::uint64_t number = trace_[at].bank % shares_;
    const std::uint64_t bit = std::uint64_t{1} << number;
    if ((round_ & bit) != 0) report_.violate(Rule::refresh_order, at);
    round_ |= bit;
    if (round_ == (std::uint64_t{1} << shares_) - 1) round_ = 0;
    last_clock_[number] = now;
    return 1;
  }

  struct Done {
    std::size_t at;
    std::uint64_t before;  // shares
    std::uint64_t after;
  };
  [[nodiscard]] std::uint64_t total() const { return done_.empty() ? 0 : done_.back().after; }
  [[nodiscard]] std::optional<std::size_t> last() const {
    if (done_.empty()) return std::nullopt;
    return done_.back().at;
  }
  [[nodiscard]] std::optional<std::size_t> last_but_one() const {
    if (done_.size() < 2) return std::nullopt;
    return done_[done_.size() - 2].at;
  }

  const Trace& trace_;
  const Limits& limits_;
  Report& report_;
  std::uint64_t shares_;
  std::vector<Done> done_{};
  std::vector<std::uint64_t> last_clock_;  // of the last refresh, by the banks' number
  std::uint64_t round_ = 0;  // the numbers that had their REFSB, a bit each
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
    const bool is_refresh = c.command == Command::ref || c.command == Command::refsb;
    if (is_refresh) rank.refresh(at);
    if (c.command == Command::sre) rank.enter_self_refresh(c.ps);
    if (c.command == Command::srx) rank.leave_self_refresh(c.ps);
  }
  for (RankAccount& rank : ranks) rank.check_deadlines(last_at);
}

}  // namespace nearfar::checker
