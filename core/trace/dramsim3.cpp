// DRAMsim3 traces (src/common.cc, reading a Transaction): `ADDRESS OPERATION CYCLE`, the
// address in hexadecimal with or without 0x, the cycle decimal. Traces of DRAMSim2 have the
// same lines; its TraceBasedSim.cpp says which of its operations read and which write. That
// P_LOCK_WR reads and BOFF writes is its rule. DRAMsim3 takes any other word for a read; here
// it is an error.

#include <algorithm>
#include <array>

#include "trace/fields.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

std::optional<Access> access_named(std::string_view name) {
  constexpr std::array<std::string_view, 7> reads = {"READ",   "read",      "P_MEM_RD", "P_FETCH",
                                                     "IFETCH", "P_LOCK_RD", "P_LOCK_WR"};
  constexpr std::array<std::string_view, 4> writes = {"WRITE", "write", "P_MEM_WR", "BOFF"};
  if (std::ranges::find(reads, name) != reads.end()) return Access::read;
  if (std::ranges::find(writes, name) != writes.end()) return Access::write;
  return std::nullopt;
}

bool read(std::string_view line, ReadState& state, std::vector<Record>& out) {
  Fields fields(line);
  const auto address = fields.address(state.base_or(16));
  if (!address) return false;
  const auto access = access_named(fields.word());
  if (!access) return false;
  const auto cycle = fields.decimal();
  if (!cycle || !fields.at_end()) return false;
  out.push_back({.address = Address(*address),
                 .cycles = *cycle,
                 .line = state.line,
                 .access = *access,
                 .absolute = true});
  return true;
}

bool write(const Record& record, const Moment& moment, std::string& text) {
  if (record.blocks || record.size > 1) return false;
  if (!moment.first) text += '\n';
  append_hex(text, record.address);
  text += record.access == Access::read ? " READ " : " WRITE ";
  append_decimal(text, moment.cycle);
  return true;
}

}  // namespace

extern const Format dramsim3 = {
    .name = "dramsim3",
    .syntax = "ADDRESS READ|WRITE CYCLE",
    .timing = {.absolute = true},
    .timed = true,
    .sized = false,
    .read = read,
    .write = write,
};

}  // namespace nearfar::trace
