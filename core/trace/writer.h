#pragma once

#include <string>

#include "trace/format.h"
#include "trace/record.h"

namespace nearfar::trace {

/// Writes records as a trace into a string that the caller empties when it likes.
///
/// What a format has no words for is lost when it is time (Ramulator's load/store traces have
/// none; VANS cannot wait before its first access) or the thread, and refused when it is an
/// access: an InputError says which.
class Writer {
 public:
  virtual ~Writer() = default;

  /// Adds a record; appends to `out` what is complete with it.
  virtual void put(const Record& record, std::string& out) = 0;

  /// Appends what is left. Without it the trace is not whole.
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
