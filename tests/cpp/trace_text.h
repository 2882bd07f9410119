#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "trace/parser.h"

namespace nearfar::trace {

/// The records of a text trace; `name` may tell formats of the same lines apart.
inline std::vector<Record> parse(std::string_view text, const Format* format = nullptr,
                                 std::string name = "t") {
  Parser parser(std::move(name), format);
  std::vector<Record> records;
  parser.feed(text, records);
  parser.finish(records);
  return records;
}

/// The message of the error that parsing gives, or "" when there is none.
inline std::string complaint(std::string_view text, const Format* format = nullptr) {
  try {
    static_cast<void>(parse(text, format));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace nearfar::trace
