// DRAMSys traces (configs/README.md, "STL Traces"; src/DRAMSys/initiators/player/StlPlayer.cpp):
// `CYCLE: [(BYTES)] read|write ADDRESS [DATA]`, the address in hexadecimal. In a .stl file the
// cycle counts from the start, in a .rstl file from the access before; the lines are the same, so
// only the name of the file tells, as it does in DRAMSys.
//
// DRAMSys takes a line without the colon, too; here it is an error, since it could also be one of
// DRAMsim3. Data are checked and dropped, as they do not influence time.

#include "trace/fields.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

constexpr std::size_t most_data_digits = 2 * max_access_bytes;

std::optional<std::uint64_t> cycle_of(std::string_view word) {
  if (!word.ends_with(':')) return std::nullopt;
  word.remove_suffix(1);
  Fields field(word);
  return field.decimal();
}

/// "(128)"
std::optional<std::uint32_t> size_of(std::string_view word) {
  if (!word.starts_with('(') || !word.ends_with(')')) return std::nullopt;
  Fields field(word.substr(1, word.size() - 2));
  const auto size = field.decimal();
  if (!size || *size == 0 || *size > max_access_bytes) return std::nullopt;
  return static_cast<std::uint32_t>(*size);
}

bool read_line(std::string_view line, ReadState& state, bool absolute, std::vector<Record>& out) {
  Fields fields(line);
  const auto cycle = cycle_of(fields.word());
  if (!cycle) return false;
  Record record{.cycles = *cycle, .line = state.line, .absolute = absolute};
  std::string_view operation = fields.word();
  if (operation.starts_with('(')) {
    const auto size = size_of(operation);
    if (!size) return false;
    record.size = *size;
    operation = fields.word();
  }
  if (operation != "read" && operation != "write") return false;
  if (operation == "write") record.access = Access::write;
  const auto address = fields.address(state.base_or(16));
  if (!address) return false;
  record.address = Address(*address);
  const bool has_data = !fields.at_end();
  if (has_data && (record.access == Access::read || !fields.hexadecimal_data(most_data_digits) ||
                   !fields.at_end())) {
    return false;
  }
  out.push_back(record);
  return true;
}

bool write_line(const Record& record, std::uint64_t cycle, bool first, std::string& text) {
  if (record.blocks) return false;
  if (!first) text += '\n';
  append_decimal(text, cycle);
  text += ": ";
  if (record.size > 1) {
    text += '(';
    append_decimal(text, record.size);
    text += ") ";
  }
  text += record.access == Access::read ? "read " : "write ";
  append_hex(text, record.address);
  return true;
}

bool read_absolute(std::string_view line, ReadState& state, std::vector<Record>& out) {
  return read_line(line, state, true, out);
}
bool read_relative(std::string_view line, ReadState& state, std::vector<Record>& out) {
  return read_line(line, state, false, out);
}
bool write_absolute(const Record& record, const Moment& moment, std::string& text) {
  return write_line(record, moment.cycle, moment.first, text);
}
bool write_relative(const Record& record, const Moment& moment, std::string& text) {
  return write_line(record, moment.gap, moment.first, text);
}

constexpr std::string_view syntax = "CYCLE: [(BYTES)] read|write ADDRESS [DATA]";

}  // namespace

extern const Format dramsys = {
    .name = "dramsys",
    .syntax = syntax,
    .ending = ".stl",
    .timing = {.absolute = true},
    .read = read_absolute,
    .write = write_absolute,
};

extern const Format dramsys_relative = {
    .name = "dramsys-relative",
    .syntax = syntax,
    .ending = ".rstl",
    .read = read_relative,
    .write = write_relative,
};

}  // namespace nearfar::trace
