#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/rng.h"
#include "limits.h"
#include "rules.h"
#include "trace.h"

namespace nearfar::checker {

/// A random legal trace with no slack: every command comes at the first clock at which the
/// standard allows it.
///
/// Looks forwards where the checker looks backwards: each command, when issued, says until
/// when which others may not follow. Nothing of the checker's table is used, so that the
/// two are two readings of the standard which a test can hold against each other.
class TightScript {
 public:
  TightScript(const Limits& limits, std::uint64_t seed, std::size_t commands);

  [[nodiscard]] const Trace& trace() const { return trace_; }
  /// The rules that forbid command `at` to come one clock earlier.
  [[nodiscard]] RuleSet bound_by(std::size_t at) const { return bound_by_[at]; }

 private:
  using Clock = std::uint64_t;

  struct NotBefore {
    Clock clock;
    Rule rule;
  };
  using Limiting = std::vector<NotBefore>;
  using ByCommand = std::array<Limiting, command_count>;

  struct Bank {
    bool open = false;
    std::uint32_t row = 0;
    Clock activated = 0;
    ByCommand forbidden{};
  };
  enum class Cke : std::uint8_t { high, power_down, self_refresh };
  struct Rank {
    std::vector<Bank> banks{};
    ByCommand forbidden{};
    Cke cke = Cke::high;
    bool owes_ref = false;
    // Refresh n is due at `epoch` + n tREFI: sleeping moves the epoch, by the time asleep
    // and by what had passed of a tREFI before.
    Clock epoch = 0;
    Clock asleep_since = 0;
    std::uint64_t refreshes = 0;
    std::uint64_t exits = 0;        // each grants one more REF
    std::deque<Clock> refreshed{};  // the last 16
    std::deque<Clock> activated{};  // the last 4
  };
  struct Choice {
    Command command;
    std::uint32_t rank;
    std::uint32_t bank;  // counted through the rank's groups
  };

  [[nodiscard]] bool all_closed(const Rank& rank) const;
  [[nodiscard]] bool possible(const Choice& choice) const;
  [[nodiscard]] bool refresh_is_urgent(const Rank& rank) const;
  [[nodiscard]] Choice choose();
  [[nodiscard]] Limiting limiting(const Choice& choice) const;
  void add_bus(const Choice& choice, Limiting& all) const;
  void add_refresh(const Choice& choice, Limiting& all) const;
  void issue(const Choice& choice);

  void apply(const Choice& choice, Clock now);
  void activate(const Choice& choice, Clock now);
  void precharge(Rank& rank, Bank& bank, Clock now);
  void access(const Choice& choice, Clock now);
  void close_after_access(const Choice& choice, Clock now);
  void refresh(Rank& rank, Clock now);
  void move_cke(const Choice& choice, Clock now);
  void forbid(ByCommand& where, std::initializer_list<Command> commands, Clock until,
              Rule rule) const;

  [[nodiscard]] Clock clock_of_last() const {
    return trace_.empty() ? 0 : trace_.back().ps / t_.clock_ps;
  }

  Limits t_;
  Rng rng_;
  std::vector<Rank> ranks_;
  Trace trace_;
  std::vector<RuleSet> bound_by_;
};

}  // namespace nearfar::checker
