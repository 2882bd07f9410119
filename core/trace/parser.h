#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"
#include "trace/record.h"

namespace nearfar::trace {

/// Reads a trace that arrives in pieces, cut anywhere.
///
/// Blank lines and lines that start with '#' are skipped; a line may end in "\r\n". A bad
/// line throws InputError "NAME:LINE: found '...', expected ...", after which the parser
/// is of no further use. Memory is bounded by the longest allowed line.
class Parser {
 public:
  /// `name` is what messages call the trace. Without a format the first line tells it.
  explicit Parser(std::string name, const Format* format = nullptr)
      : name_(std::move(name)), format_(format) {}

  /// Appends the accesses of every line that ends in `chunk` to `out`.
  void feed(std::string_view chunk, std::vector<Record>& out);

  /// The end of the trace: appends the accesses of a last line without a newline.
  /// Throws InputError when the trace held no access at all.
  void finish(std::vector<Record>& out);

  /// The format given or found; nullptr before the first line.
  [[nodiscard]] const Format* format() const { return format_; }

  /// "NAME:LINE: ", how messages about that line begin.
  [[nodiscard]] std::string place(std::uint64_t line) const;

  /// Longer lines are not a text trace: the longest useful one is a store of
  /// max_access_bytes with its data.
  static constexpr std::size_t max_line_bytes = 32 * 1024;

 private:
  void read_line(std::string_view line, std::vector<Record>& out);
  void detect(std::string_view line);
  [[noreturn]] void refuse(std::string_view line, std::string_view expected) const;

  std::string name_;
  const Format* format_;
  ReadState state_;
  std::string partial_;  // a line whose end has not arrived
  bool any_ = false;
};

}  // namespace nearfar::trace
