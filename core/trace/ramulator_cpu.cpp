// Ramulator CPU traces (Ramulator 1 README, "CPU Trace Driven"; Ramulator 2 SimpleO3):
// `BUBBLES READ [WRITEBACK]`, the number of instructions without memory access before the
// read, the address read, and that of the dirty line the read evicts. Addresses are
// decimal; 0x is accepted too.
//
// One instruction enters a cycle, so the read enters BUBBLES cycles after the cycle that
// follows the access before it. The write-back follows its read by one cycle.

#include "trace/fields.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

bool read(std::string_view line, ReadState& state, std::vector<Record>& out) {
  Fields fields(line);
  const auto bubbles = fields.decimal();
  if (!bubbles || *bubbles == ~std::uint64_t{0}) return false;
  const unsigned base = state.base_or(10);
  const auto load = fields.address(base);
  if (!load) return false;
  std::optional<std::uint64_t> write_back;
  if (!fields.at_end()) {
    write_back = fields.address(base);
    if (!write_back || !fields.at_end()) return false;
  }

  out.push_back({.address = Address(*load), .cycles = state.gap + *bubbles, .line = state.line});
  state.gap = 1;
  if (write_back) {
    out.push_back({.address = Address(*write_back),
                   .cycles = 1,
                   .line = state.line,
                   .access = Access::write});
  }
  return true;
}

/// True when the last line of `text` is a read that no write-back follows yet.
bool awaits_write_back(std::string_view text) {
  const std::size_t newline = text.find_last_of('\n');
  const std::string_view line = newline == std::string_view::npos ? text : text.substr(newline + 1);
  const std::size_t blank = line.find(' ');
  return blank != std::string_view::npos && line.find(' ', blank + 1) == std::string_view::npos;
}

bool write(const Record& record, const Moment& moment, std::string& text) {
  if (record.blocks || record.size > 1) return false;
  if (record.access == Access::write) {
    if (moment.gap > 1 || !awaits_write_back(text)) return false;
    text += ' ';
    append_decimal(text, record.address.value());
    return true;
  }
  if (!moment.first) text += '\n';
  const std::uint64_t least = moment.first ? 0 : 1;
  append_decimal(text, moment.gap > least ? moment.gap - least : 0);
  text += ' ';
  append_decimal(text, record.address.value());
  return true;
}

}  // namespace

extern const Format ramulator_cpu = {
    .name = "ramulator-cpu",
    .syntax = "BUBBLES READ-ADDRESS [WRITE-ADDRESS]",
    .timing = {},
    .timed = true,
    .sized = false,
    .read = read,
    .write = write,
};

}  // namespace nearfar::trace
