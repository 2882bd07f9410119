// DRAMsim3 traces (src/common.cc, reading a Transaction): `ADDRESS OPERATION CYCLE`, the
// address in hexadecimal with or without 0x, the cycle decimal. Traces of DRAMSim2 have the
// same lines; its TraceBasedSim.cpp says which of its operations read and which write. That
// P_LOCK_WR reads and BOFF writes is its rule. DRAMsim3 takes any other word for a read; here
// it is an error.

#include <algorithm>
#include <array>
#include <cstring>

#include "trace/digits.h"
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

/// Whether the text at `at` begins with `word`, of which `at` is moved behind.
template <std::size_t size>
bool skips(const char*& at, const char (&word)[size]) {
  if (std::memcmp(at, word, size - 1) != 0) return false;
  at += size - 1;
  return true;
}

/// DRAMsim3's own generators write `0xADDRESS READ CYCLE`.
const char* read_plain(const char* at, const char* end, ReadState& state,
                       std::vector<Record>& out) {
  // 0x, 16 digits, the word, 16 digits, a newline; and what read_digits() reads beyond.
  constexpr std::ptrdiff_t longest = 64;
  while (end - at >= longest) {
    const char* here = at;
    if (!skips(here, "0x")) break;
    const auto address = read_digits<16>(here);
    const bool is_read = skips(here, " READ ");
    if (!address || (!is_read && !skips(here, " WRITE "))) break;
    const auto cycle = read_digits<10>(here);
    if (!cycle || *here != '\n') break;
    at = here + 1;
    out.push_back({.address = Address(*address),
                   .cycles = *cycle,
                   .line = ++state.line,
                   .access = is_read ? Access::read : Access::write,
                   .absolute = true});
  }
  return at;
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
    .read_plain = read_plain,
    .write = write,
};

}  // namespace nearfar::trace
