#include "trace/parser.h"

#include "base/error.h"
#include "trace/fields.h"

namespace nearfar::trace {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

/// gzip (RFC 1952) and zstd (RFC 8878) files, by their first bytes.
bool looks_compressed(std::string_view text) {
  return text.starts_with("\x1f\x8b") || text.starts_with("\x28\xb5\x2f\xfd");
}

std::string syntax_of(const Format& format) { return "'" + std::string(format.syntax) + "'"; }

std::string every_syntax() {
  std::string list;
  for (const Format* format : formats()) {
    if (!list.empty()) list += ", ";
    list.append(syntax_of(*format)).append(" (").append(format->name).append(")");
  }
  return list;
}

}  // namespace

void Parser::feed(std::string_view chunk, std::vector<Record>& out) {
  while (!chunk.empty()) {
    const std::size_t newline = chunk.find('\n');
    const std::string_view piece = chunk.substr(0, newline);
    if (partial_.size() + piece.size() > max_line_bytes) {
      ++state_.line;
      partial_ += piece.substr(0, 1024);  // more than a message quotes
      refuse(partial_, "a line of at most " + std::to_string(max_line_bytes) + " bytes");
    }
    if (newline == std::string_view::npos) {
      partial_ += piece;
      return;
    }
    if (partial_.empty()) {
      read_line(piece, out);
    } else {
      partial_ += piece;
      read_line(partial_, out);
      partial_.clear();
    }
    chunk.remove_prefix(newline + 1);
  }
}

void Parser::finish(std::vector<Record>& out) {
  if (!partial_.empty()) {
    read_line(partial_, out);
    partial_.clear();
  }
  if (any_) return;
  throw InputError(name() + ": found no access in it, expected " +
                   (format_ == nullptr ? every_syntax() : syntax_of(*format_)));
}

void Parser::read_line(std::string_view line, std::vector<Record>& out) {
  ++state_.line;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  line = trimmed(line);
  if (line.empty() || line.front() == '#') return;
  if (format_ == nullptr) detect(line);
  const std::size_t before = out.size();
  if (!format_->read(line, state_, out)) refuse(line, syntax_of(*format_));
  any_ = any_ || out.size() > before;
}

void Parser::detect(std::string_view line) {
  std::vector<Record> ignored;
  for (const Format* format : formats()) {
    ReadState state = state_;
    if (format->read(line, state, ignored)) {
      format_ = format;
      return;
    }
  }
  refuse(line, looks_compressed(line) ? "text, not compressed data" : every_syntax());
}

void Parser::refuse(std::string_view line, std::string_view expected) const {
  throw InputError(place(state_.line) + "found " + quoted(line) + ", expected " +
                   std::string(expected));
}

}  // namespace nearfar::trace
