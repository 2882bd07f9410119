#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/dram/command.h"
#include "sim/dram/config.h"

namespace nearfar::sim::dram {

/// A set of commands, one bit each.
class CommandSet {
 public:
  template <typename... Commands>
  constexpr CommandSet(Command first, Commands... others)  // a lone command is a set of one
      : bits_(static_cast<std::uint16_t>((bit(first) | ... | bit(others)))) {}

  [[nodiscard]] constexpr bool has(Command command) const { return (bits_ & bit(command)) != 0; }

 private:
  static constexpr unsigned bit(Command command) { return 1u << static_cast<unsigned>(command); }

  std::uint16_t bits_;
};

/// Where the later command must go for a constraint to bind it, seen from the earlier one.
enum class Scope : std::uint8_t {
  bank,
  bank_group,
  same_bank,  ///< the banks of that number in every bank group of the rank
  rank,
  other_ranks
};

/// No command of `following` within `scope` comes sooner than `gap` cycles after the
/// `count`-th last command of `preceding`.
struct Constraint {
  CommandSet preceding;
  CommandSet following;
  Scope scope;
  std::int64_t (*gap)(const Timing&);
  std::uint32_t count = 1;
};

inline constexpr CommandSet column_read{Command::rd, Command::rda};
inline constexpr CommandSet column_write{Command::wr, Command::wra};
inline constexpr CommandSet column{Command::rd, Command::rda, Command::wr, Command::wra};

/// From a write command to the end of its data.
constexpr std::int64_t written(const Timing& t) { return std::int64_t{t.cwl} + t.burst; }
/// From a read command to the end of its data.
constexpr std::int64_t delivered(const Timing& t) { return std::int64_t{t.cl} + t.burst; }

}  // namespace nearfar::sim::dram
