#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "trace/parser.h"
#include "trace/writer.h"

namespace nearfar::fuzz {

/// What became of parsing a text: its accesses, and the error that ended them.
struct Outcome {
  std::vector<trace::Record> records;
  std::string error;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Parses `text` in pieces of `piece` bytes. Anything but InputError is let through.
inline Outcome parse_in_pieces(std::string_view text, std::size_t piece,
                               const trace::Format* format) {
  Outcome outcome;
  trace::Parser parser("fuzz", format);
  try {
    while (!text.empty()) {
      parser.feed(text.substr(0, piece), outcome.records);
      text.remove_prefix(piece < text.size() ? piece : text.size());
    }
    parser.finish(outcome.records);
  } catch (const InputError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

inline void require(bool law, const char* name, std::string_view text) {
  if (law) return;
  std::fprintf(stderr, "broken: %s, for a text of %zu bytes\n", name, text.size());
  std::abort();
}

/// The laws of the trace parser, for any bytes at all: it ends, throws nothing but
/// InputError with a printable one-line message, gives the same however the bytes are
/// cut, and what it accepts can be written and read again.
inline void check_trace_parser(std::string_view text) {
  std::vector<const trace::Format*> choices = {nullptr};
  const auto all = trace::text_formats();
  choices.insert(choices.end(), all.begin(), all.end());
  for (const trace::Format* format : choices) {
    const Outcome whole = parse_in_pieces(text, text.size() + 1, format);
    require(parse_in_pieces(text, 1, format) == whole, "independent of cuts (1)", text);
    require(parse_in_pieces(text, 7, format) == whole, "independent of cuts (7)", text);
    for (const char c : whole.error) require(c >= ' ' && c <= '~', "printable message", text);
    if (format == nullptr || !whole.error.empty()) continue;

    trace::TextWriter writer(*format);
    std::string written;
    for (const trace::Record& record : whole.records) writer.put(record, written);
    writer.finish(written);
    Outcome again = parse_in_pieces(written, written.size() + 1, format);
    require(again.error.empty(), "what is written can be read", text);
    require(again.records.size() == whole.records.size(), "round trip keeps all", text);
    for (std::size_t i = 0; i < again.records.size(); ++i) {
      again.records[i].line = whole.records[i].line;  // comments are not kept
    }
    require(again.records == whole.records, "round trip", text);
  }
}

}  // namespace nearfar::fuzz
