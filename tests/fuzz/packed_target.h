#pragma once

#include <string>
#include <string_view>

#include "trace/reader.h"
#include "trace_target.h"

namespace nearfar::fuzz {

/// As parse_in_pieces(), for a trace of any format.
inline Outcome read_in_pieces(std::string_view bytes, std::size_t piece, std::string_view format) {
  Outcome outcome;
  const auto reader = trace::make_reader("t", format);
  try {
    while (!bytes.empty()) {
      reader->feed(bytes.substr(0, piece), outcome.records);
      bytes.remove_prefix(piece < bytes.size() ? piece : bytes.size());
    }
    reader->finish(outcome.records);
  } catch (const InputError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

/// The laws of readers of binary traces, for any bytes at all: the worst that comes of them is an
/// InputError with a printable one-line message, and all is the same however they are cut.
inline void check_reader(std::string_view bytes, std::string_view format) {
  const Outcome whole = read_in_pieces(bytes, bytes.size() + 1, format);
  require(read_in_pieces(bytes, 1, format) == whole, "independent of cuts (1)", bytes);
  require(read_in_pieces(bytes, 7, format) == whole, "independent of cuts (7)", bytes);
  for (const char c : whole.error) require(c >= ' ' && c <= '~', "printable message", bytes);
}

}  // namespace nearfar::fuzz
