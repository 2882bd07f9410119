#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/dram/command.h"

namespace nearfar::checker {

/// One command as seen on a channel's bus.
struct BusCommand {
  std::uint64_t ps = 0;
  sim::dram::Command command = sim::dram::Command::act;
  std::uint32_t rank = 0;
  std::uint32_t bank_group = 0;
  std::uint32_t bank = 0;
  std::optional<std::uint32_t> row;  ///< also of an access, when the trace tells
  std::optional<std::uint32_t> column;

  [[nodiscard]] static BusCommand from(const sim::dram::CommandRecord& record);
};

using Trace = std::vector<BusCommand>;

[[nodiscard]] constexpr bool is_read(sim::dram::Command command) {
  return command == sim::dram::Command::rd || command == sim::dram::Command::rda;
}
[[nodiscard]] constexpr bool is_write(sim::dram::Command command) {
  return command == sim::dram::Command::wr || command == sim::dram::Command::wra;
}
[[nodiscard]] constexpr bool is_precharge(sim::dram::Command command) {
  return command == sim::dram::Command::pre || command == sim::dram::Command::prea;
}

/// Traces of several channels in one file, by device and channel.
using TraceFile = std::map<std::pair<std::string, std::uint32_t>, Trace>;

/// Reads CSV with the header
/// `time_ps,device,channel,rank,bank_group,bank,command,row,column`; fields that a command
/// does not have are blank. Throws InputError with the line's number.
[[nodiscard]] TraceFile read_csv(std::istream& in);

}  // namespace nearfar::checker
