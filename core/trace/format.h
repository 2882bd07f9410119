#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/record.h"

namespace nearfar::trace {

/// What reading a line needs to know of the lines before it.
struct ReadState {
  std::uint64_t line = 0;  ///< number of the line being read, from 1
  /// Cycles from the entry of the last access to the earliest entry of the next: 0 before
  /// the first, then 1, more when the last line asked for idle cycles after it. Or the
  /// instructions since the last access.
  std::uint64_t gap = 0;
};

/// When an access being written enters, in both ways formats have of saying it.
struct Moment {
  std::uint64_t cycle = 0;  ///< from the start of the trace
  std::uint64_t gap = 0;    ///< since the access before it
  bool first = true;
};

/// A text trace format: one access a line, or a read and a write-back.
struct Format {
  std::string_view name;
  std::string_view syntax;  ///< of a line, as messages quote it
  Timing timing;
  bool timed;  ///< its lines say when
  bool sized;  ///< and how many bytes; otherwise an access is a line of 64 bytes

  /// Reads one line, trimmed and neither blank nor a comment, and appends its accesses.
  /// False, and nothing appended, when the line is not of this format.
  bool (*read)(std::string_view line, ReadState& state, std::vector<Record>& out);

  /// Appends a read or write to `text`, which ends in the line of the access before it, still
  /// without its newline, so that a format may complete that line first. False, and
  /// nothing appended, when the format cannot say this access.
  bool (*write)(const Record& record, const Moment& moment, std::string& text);
};

extern const Format ramulator;      ///< Ramulator 2 load/store and read/write traces
extern const Format ramulator_cpu;  ///< Ramulator 1 CPU traces, Ramulator 2 SimpleO3 traces
extern const Format dramsim3;
extern const Format vans;     ///< also Ramulator 1 memory traces
extern const Format lackey;   ///< what valgrind --tool=lackey --trace-mem=yes prints

/// Every format. No line can be read in two of them, so one line tells a trace's format.
[[nodiscard]] std::span<const Format* const> formats();

/// The format of that name, or nullptr.
[[nodiscard]] const Format* find_format(std::string_view name);

}  // namespace nearfar::trace
