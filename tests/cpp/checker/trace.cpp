#include "trace.h"

#include <array>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace nearfar::checker {
namespace {

using sim::dram::Command;

constexpr std::string_view header =
    "time_ps,device,channel,rank,bank_group,bank,command,row,column";
constexpr std::size_t field_count = 9;

[[noreturn]] void fail(std::uint64_t line, const std::string& what) {
  throw InputError("command trace, line " + std::to_string(line) + ": " + what);
}

std::array<std::string_view, field_count> fields_of(std::string_view text, std::uint64_t line) {
  std::array<std::string_view, field_count> fields;
  for (std::size_t i = 0; i < field_count; ++i) {
    const auto comma = text.find(',');
    const bool last = i + 1 == field_count;
    if (last != (comma == std::string_view::npos)) fail(line, "expected 9 fields");
    fields[i] = text.substr(0, comma);
    if (!last) text.remove_prefix(comma + 1);
  }
  return fields;
}

template <typename Number>
std::optional<Number> number(std::string_view text, std::string_view what, std::uint64_t line) {
  if (text.empty()) return std::nullopt;
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    fail(line, std::string(what) + " is '" + std::string(text) + "', expected a whole number");
  }
  return value;
}

template <typename Number>
Number required(std::string_view text, std::string_view what, std::uint64_t line) {
  const auto value = number<Number>(text, what, line);
  if (!value) fail(line, std::string(what) + " is blank");
  return *value;
}

Command command_of(std::string_view text, std::uint64_t line) {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Command::srx); ++i) {
    if (name(static_cast<Command>(i)) == text) return static_cast<Command>(i);
  }
  fail(line, "unknown command '" + std::string(text) + "'");
}

bool addresses_a_bank(Command command) {
  return command == Command::act || command == Command::pre || is_read(command) ||
         is_write(command);
}

bool has_row(Command command) {
  return command == Command::act || is_read(command) || is_write(command);
}

BusCommand parse(const std::array<std::string_view, field_count>& fields, std::uint64_t line) {
  BusCommand c;
  c.ps = required<std::uint64_t>(fields[0], "time_ps", line);
  c.command = command_of(fields[6], line);
  c.rank = required<std::uint32_t>(fields[3], "rank", line);
  if (addresses_a_bank(c.command)) {
    c.bank_group = required<std::uint32_t>(fields[4], "bank_group", line);
    c.bank = required<std::uint32_t>(fields[5], "bank", line);
  }
  if (c.command == Command::refsb) c.bank = required<std::uint32_t>(fields[5], "bank", line);
  if (has_row(c.command)) c.row = number<std::uint32_t>(fields[7], "row", line);
  if (c.command == Command::act && !c.row) fail(line, "row of an ACT is blank");
  if (is_read(c.command) || is_write(c.command)) {
    c.column = required<std::uint32_t>(fields[8], "column", line);
  }
  return c;
}

}  // namespace

BusCommand BusCommand::from(const sim::dram::CommandRecord& record) {
  BusCommand c;
  c.ps = record.time.ps();
  c.command = record.command;
  c.rank = record.rank;
  c.bank_group = record.bank_group;
  c.bank = record.bank;
  if (record.command == Command::act) c.row = record.row;  // an access has none on the bus
  if (is_read(record.command) || is_write(record.command)) c.column = record.column;
  return c;
}

TraceFile read_csv(std::istream& in) {
  TraceFile traces;
  std::string text;
  std::uint64_t line = 0;
  while (std::getline(in, text)) {
    ++line;
    if (text.ends_with('\r')) text.pop_back();
    if (line == 1) {
      if (text != header) fail(line, "expected the header " + std::string(header));
      continue;
    }
    const auto fields = fields_of(text, line);
    const auto channel = required<std::uint32_t>(fields[2], "channel", line);
    traces[{std::string(fields[1]), channel}].push_back(parse(fields, line));
  }
  if (line == 0) throw InputError("command trace is empty: not even a header");
  return traces;
}

}  // namespace nearfar::checker
