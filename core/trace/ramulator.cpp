// Ramulator 2 traces with the operation first: `LD ADDR` and `ST ADDR` (frontend
// LoadStoreTrace), the same with a size and a store's bytes (LoadStoreDataTrace), and
// `R ADDR`, `W ADDR` with physical addresses. The addresses of its ReadWriteTrace may also
// be vectors of DRAM coordinates ("0,0,1,2,3"), which mean nothing without the
// organisation they were made for and are not read.
//
// The format has no times: Ramulator sends one access a cycle.

#include "trace/fields.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

std::optional<Access> access_named(std::string_view name) {
  if (name == "LD" || name == "R") return Access::read;
  if (name == "ST" || name == "W") return Access::write;
  return std::nullopt;
}

/// The bytes of a store, all of them or none: checked, as a shifted column would show
/// here, then dropped, as data do not influence time.
bool read_data(Fields& fields, std::uint64_t size) {
  if (fields.at_end()) return true;
  for (std::uint64_t i = 0; i < size; ++i) {
    const auto byte = fields.decimal();
    if (!byte || *byte > 255) return false;
  }
  return fields.at_end();
}

bool read(std::string_view line, ReadState& state, std::vector<Record>& out) {
  Fields fields(line);
  const auto access = access_named(fields.word());
  if (!access) return false;
  const auto address = fields.address(state.base_or(10));
  if (!address) return false;

  std::uint64_t size = 1;
  if (!fields.at_end()) {
    const auto given = fields.decimal();
    if (!given || *given == 0 || *given > max_access_bytes) return false;
    size = *given;
    if (!fields.at_end() && (*access == Access::read || !read_data(fields, size))) return false;
  }
  out.push_back({.address = Address(*address),
                 .cycles = state.gap,
                 .line = state.line,
                 .size = static_cast<std::uint32_t>(size),
                 .access = *access});
  state.gap = 1;
  return true;
}

bool write(const Record& record, const Moment& moment, std::string& text) {
  if (record.blocks) return false;
  if (!moment.first) text += '\n';
  text += record.access == Access::read ? "LD " : "ST ";
  append_hex(text, record.address);
  if (record.size > 1) {
    text += ' ';
    append_decimal(text, record.size);
  }
  return true;
}

}  // namespace

extern const Format ramulator = {
    .name = "ramulator",
    .syntax = "LD|ST|R|W ADDRESS [SIZE]",
    .timing = {},
    .timed = false,
    .sized = true,
    .read = read,
    .write = write,
};

}  // namespace nearfar::trace
