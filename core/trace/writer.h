#pragma once

#include <string>

#include "trace/format.h"
#include "trace/record.h"

namespace nearfar::trace {

/// Writes accesses as a text trace, line by line into a string that the caller empties
/// when it likes.
///
/// What a format has no words for is lost when it is time (Ramulator's load/store traces
/// have none; VANS cannot wait before its first access) and refused when it is an access:
/// an InputError says which.
class Writer {
 public:
  explicit Writer(const Format& format) : format_(format) {}

  /// Adds an access; appends to `out` the lines that are complete with it.
  void put(const Record& record, std::string& out);

  /// Appends the last line.
  void finish(std::string& out);

 private:
  const Format& format_;
  Moment moment_;
  std::string text_;  // the last line, still open
};

}  // namespace nearfar::trace
