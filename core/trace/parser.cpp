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

/// Whether a file of that name, which may be packed, has that ending.
bool has_ending(std::string_view name, std::string_view ending) {
  for (const std::string_view packing : {".gz", ".zst", ".xz", ".bz2"}) {
    if (name.ends_with(packing)) name.remove_suffix(packing.size());
  }
  return name.ends_with(ending);
}

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string syntax_of(const Format& format) { return "'" + std::string(format.syntax) + "'"; }

std::string every_syntax() {
  std::string list;
  for (const Format* format : text_formats()) {
    if (!list.empty()) list += ", ";
    list.append(syntax_of(*format)).append(" (").append(format->name).append(")");
  }
  return list;
}

}  // namespace

void Parser::feed(std::string_view chunk, std::vector<Record>& out) {
  while (true) {
    if (partial_.empty() && base_known_ && format_ != nullptr) chunk = after_plain(chunk, out);
    if (chunk.empty()) return;
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

/// Reads the plain lines at the beginning, if the format has any; returns the rest.
std::string_view Parser::after_plain(std::string_view chunk, std::vector<Record>& out) {
  if (format_->read_plain == nullptr) return chunk;
  const char* const end = chunk.data() + chunk.size();
  const char* const rest = format_->read_plain(chunk.data(), end, state_, out);
  any_ = any_ || rest != chunk.data();
  return {rest, static_cast<std::size_t>(end - rest)};
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
  if (state_.line == 1 && line.starts_with(byte_order_mark)) {
    line.remove_prefix(byte_order_mark.size());
  }
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  line = trimmed(line);
  if (line.empty() || line.front() == '#') return;
  if (format_ == nullptr) detect(line);
  if (!base_known_) check_base(line);
  const std::size_t before = out.size();
  if (!format_->read(line, state_, out)) refuse(line, syntax_of(*format_));
  any_ = any_ || out.size() > before;
}

void Parser::detect(std::string_view line) {
  std::vector<Record> ignored;
  std::string choices;
  for (const Format* format : text_formats()) {
    ReadState state = state_;
    if (!format->read(line, state, ignored)) continue;
    if (format->ending.empty() || has_ending(name(), format->ending)) {
      format_ = format;
      base_known_ = base_known_ || !format->bases_differ;
      return;
    }
    choices.append(choices.empty() ? "--format " : " or --format ").append(format->name);
    choices.append(" (").append(format->ending).append(")");
  }
  if (!choices.empty()) refuse(line, choices);
  refuse(line, looks_compressed(line) ? "text, not compressed data" : every_syntax());
}

/// Refuses a line whose address is another one in another base. A line that can be read in one
/// base only tells that of the trace; one that is the same in both leaves it open.
void Parser::check_base(std::string_view line) {
  std::vector<Record> decimal;
  std::vector<Record> hexadecimal;
  ReadState in_decimal = state_;
  ReadState in_hexadecimal = state_;
  in_decimal.base = 10;
  in_hexadecimal.base = 16;
  const bool is_decimal = format_->read(line, in_decimal, decimal);
  const bool is_hexadecimal = format_->read(line, in_hexadecimal, hexadecimal);
  if (is_decimal && is_hexadecimal && decimal != hexadecimal) {
    refuse(line,
           "0x before an address, or --base 16 or --base 10 to say what its digits are (--format " +
               std::string(format_->name) + " alone means 16)");
  }
  base_known_ = !is_decimal || line.starts_with("0x") || line.starts_with("0X");
}

void Parser::refuse(std::string_view line, std::string_view expected) const {
  throw InputError(place(state_.line) + "found " + quoted(line) + ", expected " +
                   std::string(expected));
}

}  // namespace nearfar::trace
