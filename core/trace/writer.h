#pragma once

#include <string>

#include "trace/format.h"
#include "trace/record.h"

namespace nearfar::trace {

/// Writes records as a trace into a string that the caller may empty at any time.
///
/// A time or a thread that the format cannot express is lost: Ramulator's load/store traces have no
/// times, and VANS cannot wait before its first access. An access that it cannot express is an
/// InputError that names the access.
class Writer {
 public:
  virtual ~Writer() = default;

  /// Adds a record and appends to `out` all that is complete with it.
  virtual void put(const Record& record, std::string& out) = 0;

  /// Appends the rest. Without it the trace is not complete.
  virtual void finish(std::string& out) = 0;
};

/// Writes a text trace, line by line.
class TextWriter final : public Writer {
 public:
  explicit TextWriter(const Format& format) : format_(format) {}

  void put(const Record& record, std::string& out) override;
  void finish(std::string& out) override;

 private:
  const Format& format_;
  Moment moment_;
  std::string text_;  // the last line, still open
};

/// The InputError for a record that a format cannot hold.
[[noreturn]] void refuse_record(const Record& record, std::string_view syntax,
                                std::string_view format);

}  // namespace nearfar::trace
