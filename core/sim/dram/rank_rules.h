#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/archive.h"
#include "sim/dram/command.h"
#include "sim/dram/config.h"
#include "sim/dram/device_timing.h"

namespace nearfar::sim::dram {

inline constexpr Cycle never = std::numeric_limits<Cycle>::max();

enum class Power : std::uint8_t { up, down, self_refresh };

/// What refresh and power management know of a rank.
struct RankState {
  Power power = Power::up;
  std::uint32_t awake_refreshes = 0;  ///< that it needs before it may sleep again
  std::uint32_t next_banks = 0;       ///< number of the banks that the next REFSB is for
  std::uint32_t queued = 0;     ///< requests waiting for this rank
  std::uint32_t open_banks = 0;
  Cycle idle_since = 0;         ///< when the last request left; meaningful while none is queued
  Cycle first_due = 0;          ///< when the oldest refresh owed is, or the next will be, due

  void state(Archive& archive) {
    archive(power, awake_refreshes, next_banks, queued, open_banks, idle_since, first_due);
  }
};

/// Refresh, power-down and self-refresh of a rank: which command it wants, and when.
///
/// A refresh is due every tREFI. Up to `refresh_postpone` may be owed while requests wait;
/// beyond that the rank takes no request until it has refreshed. Refreshes owed are made up
/// for when the rank has been without requests for `refresh_idle` cycles. Due times lie
/// ahead of the multiples of tREFI by the longest time it takes to precharge a busy rank, so
/// that REF itself meets JEDEC's limit of nine tREFI between two.
///
/// Refresh of the same bank in every group comes as often as a group has banks, to one after
/// the other. A rank that can put it off no longer takes no request for those banks; it closes
/// them, while the others go on. An activate that would keep REFSB waiting does not go out.
///
/// A rank without requests goes to power-down, and after longer to self-refresh, all banks
/// precharged, nothing owed and refreshed once since the last self-refresh.
class RankRules {
 public:
  static constexpr Cycle refresh_idle = 32;

  explicit RankRules(const Config& config);

  /// A rank as it is at time 0; ranks' refreshes are staggered.
  [[nodiscard]] RankState initial(std::uint32_t rank) const;

  /// From this cycle on the rank takes no request until it has refreshed.
  [[nodiscard]] Cycle forced_at(const RankState& rank) const {
    return refresh_ && rank.power != Power::self_refresh
               ? rank.first_due + postpone_ * refi_ / refreshes_
               : never;
  }

  /// Whether requests to the rank may be served at `cycle`, but those to banks that refresh_of()
  /// names.
  [[nodiscard]] bool available(const RankState& rank, Cycle cycle) const {
    return rank.power == Power::up && (same_bank_ || cycle < forced_at(rank));
  }
  /// The banks of the rank that take no request at `cycle` because they have to be refreshed
  /// while the others go on: a bit each, counted in the rank.
  [[nodiscard]] std::uint64_t refresh_of(const RankState& rank, Cycle cycle) const {
    return same_bank_ && cycle >= forced_at(rank) ? same_banks_ << rank.next_banks : 0;
  }

  /// The rows open in the channel's banks; `closed` where there is none.
  using Rows = std::array<std::int64_t, 64>;
  static constexpr std::int64_t closed = -1;

  struct Wish {
    Command command = Command::ref;
    std::uint32_t bank = 0;  ///< of a PRE, counted over the channel; of a REFSB, its first
  };
  /// The command the rank, which is the `index`-th, wants at `cycle`, as soon as timing allows it.
  [[nodiscard]] std::optional<Wish> wanted(const RankState& rank, std::uint32_t index,
                                           const Rows& rows, Cycle cycle) const;

  struct Plan {
    Cycle cycle = never;
    Command command = Command::ref;
    std::uint32_t bank = 0;  ///< as in Wish
    bool look_again = false;  ///< no command, but from `cycle` on there may be one

    void state(Archive& archive) { archive(cycle, command, bank, look_again); }
  };
  /// The first cycle from `from` on in which wanted() names a command that `timing` allows,
  /// if no request comes or goes; while requests are served, when that stops (`look_again`).
  [[nodiscard]] Plan plan(const RankState& rank, std::uint32_t index, const DeviceTiming& timing,
                          const Rows& rows, Cycle from) const;

  /// The earliest cycle at which timing allows the plan's command.
  [[nodiscard]] static Cycle earliest(const Plan& plan, std::uint32_t index,
                                      const DeviceTiming& timing);

  /// No command is wanted before this cycle, if no request comes; for a rank that is up.
  [[nodiscard]] Cycle first_wish(const RankState& rank) const {
    return std::min({wants_refresh_at(rank), wants_selfrefresh_at(rank), wants_powerdown_at(rank)});
  }

  /// Updates the rank for its command at `cycle`.
  void issued(Command command, RankState& rank, Cycle cycle) const;

  [[nodiscard]] Cycle refi() const { return refi_; }

  /// When the rank, without requests, starts to want something because of idleness alone;
  /// never when nothing of the kind lies after `cycle`.
  [[nodiscard]] Cycle next_idle_threshold(const RankState& rank, Cycle cycle) const;

 private:
  [[nodiscard]] Cycle wants_refresh_at(const RankState& rank) const;
  [[nodiscard]] Cycle wants_selfrefresh_at(const RankState& rank) const;
  [[nodiscard]] Cycle wants_powerdown_at(const RankState& rank) const;
  [[nodiscard]] Wish refresh_step(const RankState& rank, std::uint32_t index,
                                  const Rows& rows) const;
  /// From the due time of the refresh that comes next to that of the one after it.
  [[nodiscard]] Cycle step(const RankState& rank) const {
    return (rank.next_banks + 1) * refi_ / refreshes_ - rank.next_banks * refi_ / refreshes_;
  }

  bool refresh_;
  bool same_bank_;
  std::uint32_t refreshes_;  ///< in a refresh interval
  std::uint32_t banks_in_rank_;
  std::uint64_t same_banks_ = 0;  ///< the first bank of every group, a bit each
  Cycle activate_to_refresh_;  ///< how long an activate of the rank keeps a REFSB waiting
  Cycle refi_;
  Cycle postpone_;
  Cycle ahead_;  ///< due times lie this much before the multiples of tREFI
  Cycle stagger_;  ///< from one rank's due times to the next one's
  Cycle powerdown_idle_;
  Cycle selfrefresh_idle_;
};

}  // namespace nearfar::sim::dram
