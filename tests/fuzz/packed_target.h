#pragma once

#include <string>
#include <string_view>

#include "trace/packed.h"
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

/// What was read of a trace in our own format, written again.
inline std::string written_again(std::string_view bytes, const Outcome& read) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  trace::PackedWriter writer(trace::parse_header(line));
  std::string out;
  for (const trace::Record& record : read.records) writer.put(record, out);
  writer.finish(out);
  return out;
}

/// The laws of readers of binary traces, for any bytes at all: the worst that comes of them is an
/// InputError with a printable one-line message, all is the same however they are cut, and what is
/// accepted of our own format reads the same when it is written again.
inline void check_reader(std::string_view bytes, std::string_view format) {
  const Outcome whole = read_in_pieces(bytes, bytes.size() + 1, format);
  require(read_in_pieces(bytes, 1, format) == whole, "independent of cuts (1)", bytes);
  require(read_in_pieces(bytes, 7, format) == whole, "independent of cuts (7)", bytes);
  for (const char c : whole.error) require(c >= ' ' && c <= '~', "printable message", bytes);
  if (format != "nearfar" || !whole.error.empty()) return;
  const std::string again = written_again(bytes, whole);
  require(read_in_pieces(again, again.size(), format) == whole, "round trip", bytes);
}

}  // namespace nearfar::fuzz
