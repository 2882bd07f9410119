// NVMain traces (traceReader/NVMainTrace/NVMainTraceReader.cpp): `CYCLE R|W ADDRESS DATA
// [OLD-DATA] THREAD`, the address in hexadecimal with or without 0x, 64 bytes of data in
// hexadecimal, the rest decimal. Old data are in version 1, which a line `NVMV1` announces.
//
// Data are checked and dropped, as they do not influence time, and written as zeros. NVMain
// takes a line that ends before its data; here it is an error, since it would also be a line of
// VANS.

#include "trace/fields.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

constexpr std::string_view version_1 = "NVMV1";
constexpr std::size_t data_digits = 2 * line_bytes;

std::optional<std::uint16_t> thread_of(std::string_view word) {
  Fields field(word);
  const auto thread = field.decimal();
  if (!thread || *thread > 0xffff) return std::nullopt;
  return static_cast<std::uint16_t>(*thread);
}

/// What stands behind the address: data, perhaps old data, and a thread.
std::optional<std::uint16_t> read_rest(Fields& fields) {
  if (!fields.hexadecimal_data(data_digits)) return std::nullopt;
  Fields last = fields;
  std::string_view thread = last.word();
  if (!last.at_end()) {
    if (!fields.hexadecimal_data(data_digits)) return std::nullopt;
    thread = fields.word();
    if (!fields.at_end()) return std::nullopt;
  }
  return thread_of(thread);
}

bool read(std::string_view line, ReadState& state, std::vector<Record>& out) {
  if (line == version_1 || line == "NVMV0") return state.gap == 0;  // before any access
  Fields fields(line);
  const auto cycle = fields.decimal();
  if (!cycle) return false;
  const std::string_view operation = fields.word();
  if (operation != "R" && operation != "W") return false;
  const auto address = fields.address(state.base_or(16));
  if (!address) return false;
  const auto thread = read_rest(fields);
  if (!thread) return false;
  out.push_back({.address = Address(*address),
                 .cycles = *cycle,
                 .line = state.line,
                 .thread = *thread,
                 .access = operation == "R" ? Access::read : Access::write,
                 .absolute = true});
  state.gap = 1;
  return true;
}

bool write(const Record& record, const Moment& moment, std::string& text) {
  if (record.blocks || record.size > 1) return false;
  if (moment.first) text += version_1;
  text += '\n';
  append_decimal(text, moment.cycle);
  text += record.access == Access::read ? " R " : " W ";
  append_hex(text, record.address);
  for (int i = 0; i < 2; ++i) text.append(" ").append(data_digits, '0');
  text += ' ';
  append_decimal(text, record.thread);
  return true;
}

}  // namespace

extern const Format nvmain = {
    .name = "nvmain",
    .syntax = "CYCLE R|W ADDRESS DATA [OLD-DATA] THREAD",
    .timing = {.absolute = true},
    .sized = false,
    .read = read,
    .write = write,
};

}  // namespace nearfar::trace
