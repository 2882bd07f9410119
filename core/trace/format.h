#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/record.h"

namespace nearfar::trace {

class Reader;
class Writer;
struct Header;

/// What the earlier lines of a trace mean for the next one.
struct ReadState {
  std::uint64_t line = 0;  ///< number of the line being read, from 1
  /// Cycles from the entry of the last access to the earliest entry of the next: 0 before
  /// the first, then 1, more when the last line asked for idle cycles after it. Or the
  /// instructions since the last access.
  std::uint64_t gap = 0;
  /// The base of addresses without 0x, 10 or 16; 0: the format's own.
  unsigned base = 0;

  [[nodiscard]] unsigned base_or(unsigned usual) const { return base == 0 ? usual : base; }
};

/// When an access being written enters, in both ways formats have of saying it.
struct Moment {
  std::uint64_t cycle = 0;  ///< from the start of the trace
  std::uint64_t gap = 0;    ///< since the access before it
  bool first = true;
};

/// Whether a format states the length of its cycles.
enum class Clock : std::uint8_t { never, optional, always };

/// A trace format. One of text is read line by line: one access a line, or a read and a
/// write-back. One of bytes has a reader of its own.
///
/// To add a format, write a file beside this one that defines its Format, and name that in the
/// list of formats.cpp.
struct Format {
  std::string_view name;
  std::string_view syntax;    ///< of a line, as messages quote it; or what the bytes are
  std::string_view magic{};  ///< first bytes; empty for text, and where nothing tells the format
  std::string_view ending{};  ///< of file names: tells formats apart that read the same lines
  Timing timing{};  ///< of text
  bool timed = true;  ///< says when
  bool sized = true;  ///< and how many bytes; otherwise an access is a line of 64 bytes
  bool complete = false;  ///< has every operation that a record can have
  Clock clock = Clock::never;
  /// Tools that read such lines differ in the base of an address without 0x.
  bool bases_differ = false;

  /// Reads one line, trimmed and neither blank nor a comment, and appends its accesses.
  /// False, and nothing appended, when the line is not of this format.
  bool (*read)(std::string_view line, ReadState& state, std::vector<Record>& out) = nullptr;

  /// Reads the lines from `at` on that are as the format's own tools write them, as long as they
  /// end well before `end`, and returns where it stops: much faster, at least, than line by line.
  /// May be missing.
  const char* (*read_plain)(const char* at, const char* end, ReadState& state,
                            std::vector<Record>& out) = nullptr;

  /// Appends a read or write to `text`, which ends in the line of the access before it, still
  /// without its newline, so that a format may complete that line first. False, and
  /// nothing appended, when the format cannot say this access.
  bool (*write)(const Record& record, const Moment& moment, std::string& text) = nullptr;

  /// For bytes: a reader, and a writer of a trace with that header.
  std::unique_ptr<Reader> (*open)(std::string name) = nullptr;
  std::unique_ptr<Writer> (*create)(const Header& header) = nullptr;

  [[nodiscard]] bool is_text() const { return read != nullptr; }
  [[nodiscard]] bool is_written() const { return write != nullptr || create != nullptr; }
};

/// Every format, those of text first. No line can be read in two of them unless their `ending`
/// tells them apart, so one line tells a trace's format.
[[nodiscard]] std::span<const Format* const> formats();

/// Those of text.
[[nodiscard]] std::span<const Format* const> text_formats();

/// The format of that name, or nullptr.
[[nodiscard]] const Format* find_format(std::string_view name);

}  // namespace nearfar::trace
