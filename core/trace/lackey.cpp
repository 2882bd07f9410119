// The text that valgrind --tool=lackey --trace-mem=yes prints (valgrind's manual, "Lackey: an
// example tool"): `I  ADDRESS,SIZE` for an instruction, ` L ADDRESS,SIZE` for a load of it,
// ` S` for a store, ` M` for a load and a store of the same bytes. Addresses are hexadecimal
// without 0x, virtual, sizes decimal. Lines that begin with "==" are valgrind's own remarks.
//
// An access carries the number of instructions since the access before it; the accesses of one
// instruction follow its line. All instructions are written at address 0, as our records do not
// hold their addresses.

#include "trace/fields.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

/// Between two accesses. They take a line each: times in other units must not fill the disk.
constexpr std::uint64_t most_instructions = 1'000'000;

struct Bytes {
  std::uint64_t address;
  std::uint32_t count;
};

std::optional<Bytes> bytes_of(std::string_view field, unsigned base) {
  const std::size_t comma = field.find(',');
  if (comma == std::string_view::npos || field.starts_with("0x")) return std::nullopt;
  Fields address(field.substr(0, comma));
  Fields size(field.substr(comma + 1));
  const auto first = address.address(base);
  const auto count = size.decimal();
  if (!first || !count || *count == 0 || *count > max_access_bytes) return std::nullopt;
  return Bytes{*first, static_cast<std::uint32_t>(*count)};
}

bool read(std::string_view line, ReadState& state, std::vector<Record>& out) {
  if (line.starts_with("==")) return true;
  Fields fields(line);
  const std::string_view operation = fields.word();
  if (operation.size() != 1) return false;
  const auto bytes = bytes_of(fields.word(), state.base_or(16));
  if (!bytes || !fields.at_end()) return false;

  Record record{.address = Address(bytes->address),
                .cycles = state.gap,
                .line = state.line,
                .size = bytes->count};
  switch (operation.front()) {
    case 'I':
      ++state.gap;
      return true;
    case 'L':
      break;
    case 'S':
      record.access = Access::write;
      break;
    case 'M':
      out.push_back(record);
      record.cycles = 0;
      record.access = Access::write;
      break;
    default:
      return false;
  }
  out.push_back(record);
  state.gap = 0;
  return true;
}

bool write(const Record& record, const Moment& moment, std::string& text) {
  if (record.blocks || moment.gap > most_instructions) return false;
  if (!moment.first) text += '\n';
  for (std::uint64_t i = 0; i < moment.gap; ++i) text += "I  00000000,1\n";
  text += record.access == Access::read ? " L " : " S ";
  std::string address;
  append_hex(address, record.address);
  text.append(address, 2);  // without 0x
  text += ',';
  append_decimal(text, record.size);
  return true;
}

}  // namespace

extern const Format lackey = {
    .name = "lackey",
    .syntax = "I|L|S|M ADDRESS,SIZE",
    .timing = {.kind = Kind::program, .counts = Counts::instructions},
    .timed = true,
    .sized = true,
    .read = read,
    .write = write,
};

}  // namespace nearfar::trace
