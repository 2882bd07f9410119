#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/tick.h"

namespace nearfar::sim::dram {

/// Commands on a DDR4 or DDR5 bus, named as in the command trace. REFSB is DDR5's alone.
enum class Command : std::uint8_t {
  act,
  pre,
  prea,
  rd,
  rda,
  wr,
  wra,
  ref,
  refsb,  ///< refreshes the banks of one number in every bank group
  pde,
  pdx,
  sre,
  srx
};

inline constexpr std::size_t command_count = 13;

[[nodiscard]] constexpr std::string_view name(Command command) {
  constexpr std::string_view names[] = {"ACT", "PRE",   "PREA", "RD",  "RDA", "WR", "WRA",
                                        "REF", "REFSB", "PDE",  "PDX", "SRE", "SRX"};
  return names[static_cast<std::uint8_t>(command)];
}

/// One command as it left the controller. Fields that a command does not have
/// (the row of a REF) are 0 here and blank in the trace file.
struct CommandRecord {
  Tick time;
  Command command = Command::act;
  std::uint8_t channel = 0;     ///< counted over the machine; of DDR5, the subchannel's
  std::uint8_t rank = 0;
  std::uint8_t bank_group = 0;
  std::uint8_t bank = 0;      ///< within its bank group; of a REFSB, in every group
  std::uint32_t row = 0;
  std::uint32_t column = 0;   ///< in units of the bus width, a burst's first
};

/// Receives every command in time order; nothing is recorded when there is none.
class CommandLog {
 public:
  virtual ~CommandLog() = default;
  virtual void record(const CommandRecord& record) = 0;
};

}  // namespace nearfar::sim::dram
