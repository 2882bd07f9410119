// DRAMsim3 traces (src/common.cc, reading a Transaction): `ADDRESS OPERATION CYCLE`, the
// address in hexadecimal with or without 0x, the cycle decimal. Besides READ and WRITE
// the names of DRAMSim2's traces are used: P_MEM_RD, P_FETCH, P_MEM_WR and BOFF. DRAMsim3
// takes any other word for a read; here it is an error.

#include "trace/fields.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

std::optional<Access> access_named(std::string_view name) {
  if (name == "READ" || name == "read" || name == "P_MEM_RD" || name == "P_FETCH") {
    return Access::read;
  }
  if (name == "WRITE" || name == "write" || name == "P_MEM_WR" || name == "BOFF") {
    return Access::write;
  }
  return std::nullopt;
}

bool read(std::string_view line, ReadState& state, std::vector<Record>& out) {
  Fields fields(line);
  const auto address = fields.hexadecimal();
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

const Format dramsim3 = {
    .name = "dramsim3",
    .syntax = "ADDRESS READ|WRITE CYCLE",
    .timing = {.absolute = true},
    .timed = true,
    .sized = false,
    .read = read,
    .write = write,
};

}  // namespace nearfar::trace
