// VANS traces (src/general/trace.cpp): `ADDRESS [R|W|C][:IDLE]`, the address in
// hexadecimal with or without 0x. R reads, W writes, nothing reads too; C is a critical
// read: nothing after it enters before it has completed. IDLE is the number of cycles in
// which nothing enters after this access. (VANS's own loop spends one cycle more on it;
// blanks may stand for the colon.) Lines of Ramulator 1 memory traces, `ADDRESS R|W`,
// are the same, but for an address without 0x, which is decimal there.
//
// Without IDLE one access enters a cycle.

#include "trace/fields.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

/// What follows the operation's letter: ":IDLE" in the same field, IDLE in the next, or
/// nothing, which is no idle cycle.
std::optional<std::uint64_t> idle_cycles(std::string_view suffix, Fields& rest) {
  if (suffix.empty() && rest.at_end()) return 0;
  if (!suffix.empty() && suffix.front() != ':') return std::nullopt;
  Fields joined(suffix.empty() ? suffix : suffix.substr(1));
  const auto count = suffix.empty() ? rest.decimal() : joined.decimal();
  return rest.at_end() ? count : std::nullopt;
}

bool read(std::string_view line, ReadState& state, std::vector<Record>& out) {
  Fields fields(line);
  const auto address = fields.address(state.base_or(16));
  if (!address) return false;

  Record record{.address = Address(*address), .cycles = state.gap, .line = state.line};
  std::uint64_t idle = 0;
  if (const std::string_view operation = fields.word(); !operation.empty()) {
    switch (operation.front()) {
      case 'R':
        break;
      case 'W':
        record.access = Access::write;
        break;
      case 'C':
        record.blocks = true;
        break;
      default:
        return false;
    }
    const auto count = idle_cycles(operation.substr(1), fields);
    if (!count || *count == ~std::uint64_t{0}) return false;
    idle = *count;
  }
  out.push_back(record);
  state.gap = idle + 1;
  return true;
}

bool write(const Record& record, const Moment& moment, std::string& text) {
  if (record.size > 1 || (record.blocks && record.access == Access::write)) return false;
  if (!moment.first) {
    if (moment.gap > 1) {
      text += ':';
      append_decimal(text, moment.gap - 1);
    }
    text += '\n';
  }
  append_hex(text, record.address);
  if (record.blocks) {
    text += " C";
  } else {
    text += record.access == Access::read ? " R" : " W";
  }
  return true;
}

}  // namespace

extern const Format vans = {
    .name = "vans",
    .syntax = "ADDRESS [R|W|C][:IDLE]",
    .timing = {},
    .timed = true,
    .sized = false,
    .bases_differ = true,
    .read = read,
    .write = write,
};

}  // namespace nearfar::trace
