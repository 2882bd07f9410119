// Every command the simulator's channel issues obeys JESD79-4 or JESD79-5, by the word of a checker
// that shares no code with it; the commands serve the requests, the right line at the right
// time; and no rule is stricter than the standard: each distance of the table is met with no
// clock to spare somewhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/settings.h"
#include "checker/checker.h"
#include "checker/machines.h"
#include "checker/passes.h"
#include "checker/service.h"
#include "effort.h"
#include "sim/dram/channel.h"

namespace nearfar::checker {
namespace test_file {

using sim::Completion;
using sim::Op;

class Recorder : public sim::dram::CommandLog {
 public:
  void record(const sim::dram::CommandRecord& record) override {
    trace_.push_back(BusCommand::from(record));
  }
  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  Trace trace_;
};

enum class Pattern : std::uint8_t { sequential, random, chase, mixed, bursts };
constexpr Pattern patterns[] = {Pattern::sequential, Pattern::random, Pattern::chase,
                                Pattern::mixed, Pattern::bursts};

const char* title(Pattern pattern) {
  constexpr const char* titles[] = {"sequential", "random", "chase", "mixed", "bursts"};
  return titles[static_cast<std::size_t>(pattern)];
}

/// What a program does to memory: addresses, reads and writes, and pauses.
class Stream {
 public:
  Stream(Pattern pattern, Bytes capacity, std::uint64_t seed)
      : pattern_(pattern), lines_(capacity / line_bytes), rng_(seed) {
    next_line_ = rng_.below(lines_);
    sequential_write_ = rng_.below(2) == 1;
  }

  [[nodiscard]] std::uint64_t outstanding() const { return pattern_ == Pattern::chase ? 1 : 96; }

  /// The `number`-th request.
  [[nodiscard]] sim::Request next(std::uint64_t number) {
    sim::Request request;
    request.id = number;
    request.op = is_write() ? Op::write : Op::read;
    request.address = Address(line() * line_bytes);
    return request;
  }

  /// Idle time before the next request: bursts pause for anything from a few clocks to
  /// longer than any idle time after which a rank is put to sleep.
  [[nodiscard]] Tick pause() {
    if (pattern_ == Pattern::chase) return Tick(rng_.below(8) == 0 ? rng_.below(40'000) : 0);
    if (pattern_ != Pattern::bursts || rng_.below(12) != 0) return Tick(0);
    constexpr std::uint64_t longest_ps[] = {20'000, 200'000, 2'000'000, 20'000'000};
    return Tick(rng_.below(longest_ps[rng_.below(4)]));
  }

 private:
  [[nodiscard]] bool is_write() {
    switch (pattern_) {
      case Pattern::sequential:
        return sequential_write_;
      case Pattern::random:
      case Pattern::chase:
        return false;
      case Pattern::mixed:
        return rng_.below(10) < 3;
      case Pattern::bursts:
        return rng_.below(2) == 0;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t line() {
    switch (pattern_) {
      case Pattern::sequential:
        return next_line_++ % lines_;
      case Pattern::bursts:
        // Near the last one as often as not: row hits, bank conflicts, merged writes.
        if (rng_.below(2) == 0) return (next_line_ + rng_.below(64)) % lines_;
        break;
      default:
        break;
    }
    next_line_ = rng_.below(lines_);
    return next_line_;
  }

  Pattern pattern_;
  std::uint64_t lines_;
  Rng rng_;
  std::uint64_t next_line_ = 0;
  bool sequential_write_ = false;
};

/// Plays a stream against a channel until all is answered and the write queue is empty, and
/// then leaves it idle for a while. Fails the test when a request is lost or answered twice.
class Player {
 public:
  Player(const Machine& machine, Pattern pattern, std::uint64_t seed)
      : config_(sim::dram::config_from(Settings::parse(machine.settings("dram.")), "dram.")),
        channel_(config_, 0, &recorder_),
        stream_(pattern, config_.capacity(), seed) {}

  void play(std::uint64_t requests) {
    served_.assign(requests, {});
    sim::Request request = stream_.next(0);
    Tick arrival = stream_.pause();
    while (answers_ < requests || !channel_.idle()) {
      while (may_send() && arrival <= now_ && offer(request)) {
        if (sent_ < requests) request = stream_.next(sent_);
        arrival = max(now_, arrival) + stream_.pause();
      }
      const Tick next = min(channel_.next_event(), may_send() ? arrival : Tick::never());
      if (next.is_never()) {
        ADD_FAILURE() << sent_ - answers_ << " requests are never answered";
        return;
      }
      advance(max(next, now_));
    }
    const Tick longer_than_any_idle_time(30'000'000);
    advance(now_ + longer_than_any_idle_time);
  }

  [[nodiscard]] const Trace& trace() const { return recorder_.trace(); }
  [[nodiscard]] const std::vector<Served>& served() const { return served_; }

 private:
  [[nodiscard]] bool may_send() const {
    return sent_ < served_.size() && !refused_ && sent_ - answers_ < stream_.outstanding();
  }

  bool offer(const sim::Request& request) {
    refused_ = !channel_.try_send(request, now_).accepted;
    if (refused_) return false;
    served_[request.id] = {request.address.block(line_bytes), request.op == Op::write, now_.ps(),
                           0};
    ++sent_;
    return true;
  }

  void advance(Tick until) {
    sink_.clear();
    channel_.advance(until, sink_);
    now_ = until;
    for (const Completion& completion : sink_) {
      if (completion.kind == Completion::Kind::wake) refused_ = false;
      if (completion.kind != Completion::Kind::done) continue;
      Served& served = served_.at(completion.id);
      EXPECT_EQ(served.done_ps, 0u) << "request " << completion.id << " answered twice";
      EXPECT_EQ(completion.address.block(line_bytes), served.line);
      served.done_ps = completion.time.ps();
      ++answers_;
    }
  }

  sim::dram::Config config_;
  Recorder recorder_;
  sim::dram::Channel channel_;
  Stream stream_;
  sim::Sink sink_;
  std::vector<Served> served_;
  std::uint64_t sent_ = 0;
  std::uint64_t answers_ = 0;
  bool refused_ = false;
  Tick now_{};
};

std::string listed(const Findings& findings, const Trace& trace) {
  std::string text = "\n  " + std::to_string(findings.violations.size()) + " violations";
  std::map<Rule, int> shown;
  for (const Violation& violation : findings.violations) {
    if (++shown[violation.rule] <= 3) text += "\n  " + describe(violation, trace);
  }
  return text;
}

/// The refresh intervals of `trace` if only `slack` REF might be postponed.
Findings check_refresh_with(std::uint64_t slack, const Trace& trace, const Machine& machine) {
  Limits limits = machine.limits();
  limits.refresh_slack = slack;
  RuleSet rules;
  rules.add(Rule::refresh_postponed);
  rules.add(Rule::refresh_gap);
  Report report(limits.clock_ps, rules);
  check_refresh(trace, limits, report);
  return report.take();
}

/// The channel postpones at most as told, and each REF takes less than one tREFI from due
/// to issued: for a controller told to postpone little that is far less than the standard's 8.
Findings check_own_postponement(const Trace& trace, const Machine& machine) {
  return check_refresh_with(std::min<std::uint64_t>(machine.postpone + 1, 8), trace, machine);
}

/// Was a REF ever put off by as many tREFI as the controller may?
bool postpones_fully(const Trace& trace, const Machine& machine) {
  return !check_refresh_with(machine.postpone - 1, trace, machine).passes();
}

/// Plays `pattern` and checks the trace; what was tight is added to `total`.
Trace check_run(const Machine& machine, Pattern pattern, std::uint64_t seed, std::uint64_t requests,
                Findings& total) {
  SCOPED_TRACE(std::string(title(pattern)) + " on " + machine.description() + ", seed " +
               std::to_string(seed));
  Player player(machine, pattern, seed);
  player.play(requests);
  const Findings findings = check(player.trace(), machine.limits());
  EXPECT_TRUE(findings.passes()) << listed(findings, player.trace());
  const Findings own = check_own_postponement(player.trace(), machine);
  EXPECT_TRUE(own.passes()) << listed(own, player.trace());
  for (const std::string& complaint :
       check_service(player.trace(), machine.limits(), machine.mapping, player.served())) {
    ADD_FAILURE() << complaint;
  }
  for (std::size_t i = 0; i < rule_count; ++i) total.tight[i] += findings.tight[i];
  return player.trace();
}

// Distances that no controller of this kind meets with nothing to spare.
const std::map<Rule, std::string> never_tight = {
    {Rule::tCKE, "a rank wakes for a command, which waits for tXP, and that is longer"},
    {Rule::tACTPDEN, "a row is opened for an access, which comes before the rank is idle"},
    {Rule::tPRPDEN, "a row is closed for ACT, REF or SRE, which come before the rank is idle"},
    {Rule::refresh_gap, "refreshes are not pulled in, so the gap stays below 9 tREFI"},
    {Rule::refresh_pulled_in, "refreshes are not pulled in"},
    {Rule::refresh_burst, "refreshes are not pulled in"},
    {Rule::refresh_postponed,
     "a REF that can wait no longer is begun in time to close the rows first"},
};

// Rules about what the other standard has.
const std::set<Rule> of_ddr5 = {Rule::tWTRA,  Rule::tCCD_L_WR, Rule::tPPD,
                                Rule::tRFCsb, Rule::tREFSBRD,  Rule::tRRD_REFsb};
const std::set<Rule> of_states = {Rule::refresh_order};

void expect_tight(const Findings& total, bool ddr5) {
  if (sim::testing::one_in > 1) return;
  for (std::size_t i = static_cast<std::size_t>(Rule::tRCD); i < rule_count; ++i) {
    const Rule rule = static_cast<Rule>(i);
    if (never_tight.contains(rule) || of_states.contains(rule)) continue;
    if (!ddr5 && of_ddr5.contains(rule)) continue;
    EXPECT_GT(total.tight[i], 0u) << name(rule) << " is never met with nothing to spare";
  }
}

TEST(DramConformance, EveryTraceIsLegalAndEveryDistanceSeenTight) {
  Findings total;
  std::uint64_t seed = 0;
  for (const Machine& machine : random_machines(sim::testing::cases(120), 1)) {
    for (const Pattern pattern : patterns) check_run(machine, pattern, ++seed, 1000, total);
  }
  expect_tight(total, false);
}

TEST(DramConformance, EveryDdr5TraceIsLegalAndEveryDistanceSeenTight) {
  Findings total;
  std::uint64_t seed = 5000;
  for (const Machine& machine : random_ddr5_machines(sim::testing::cases(120), 3)) {
    for (const Pattern pattern : patterns) check_run(machine, pattern, ++seed, 1000, total);
  }
  expect_tight(total, true);
}

TEST(DramConformance, BusyDdr5ChannelsPostponeRefreshNoFurtherThanTold) {
  Findings total;
  std::uint64_t seed = 7000;
  for (const Machine& machine : random_ddr5_machines(sim::testing::cases(12), 4)) {
    check_run(machine, Pattern::random, ++seed, 20'000, total);
    check_run(machine, Pattern::mixed, ++seed, 20'000, total);
  }
}

// Long enough for every refresh that may be postponed to have been, several times over.
TEST(DramConformance, BusyChannelsPostponeRefreshAsFarAsToldAndNoFurther) {
  Findings total;
  std::uint64_t seed = 1000;
  for (Machine machine : random_machines(sim::testing::cases(8), 2)) {
    machine.ranks = machine.ranks == 4 ? 4 : 1;
    for (const std::uint32_t postpone : {0u, 4u, 8u}) {
      machine.postpone = postpone;
      const Trace trace = check_run(machine, Pattern::random, ++seed, 20'000, total);
      // Of several ranks each is idle now and then, and refreshed then.
      if (postpone > 0 && machine.ranks == 1) {
        EXPECT_TRUE(postpones_fully(trace, machine)) << machine.description();
      }
    }
  }
}

}  // namespace test_file
}  // namespace nearfar::checker
