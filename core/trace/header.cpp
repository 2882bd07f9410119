#include "trace/header.h"

#include <charconv>
#include <map>
#include <optional>

#include "base/error.h"
#include "trace/reader.h"

namespace nearfar::trace {
namespace {

constexpr std::string_view schema = "nearfar/trace/";
constexpr unsigned latest_version = 2;

void append_string(std::string& json, std::string_view name, std::string_view value) {
  constexpr char digits[] = "0123456789abcdef";
  json.append(", \"").append(name).append("\": \"");
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (byte < ' ') {
      json.append("\\u00") += {digits[byte >> 4], digits[byte & 15]};
    } else {
      json += c;
    }
  }
  json += '"';
}

/// A JSON object whose values are strings and whole numbers; a header has no others.
class Object {
 public:
  explicit Object(std::string_view text) : rest_(text) {}

  /// False when `text` is no such object.
  [[nodiscard]] bool read() {
    if (!take('{')) return false;
    if (!take('}')) {
      do {
        const auto name = string();
        if (!name || !take(':')) return false;
        const auto value = peek() == '"' ? string() : number();
        if (!value || !values_.emplace(*name, *value).second) return false;
      } while (take(','));
      if (!take('}')) return false;
    }
    skip_blanks();
    return rest_.empty();
  }

  [[nodiscard]] std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) next();
  }
  char peek() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_.front();
  }
  char next() {
    if (rest_.empty()) return '\0';
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool take(char c) {
    if (peek() != c || rest_.empty()) return false;
    next();
    return true;
  }

  std::optional<std::string> number() {
    std::string digits;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') digits += next();
    if (digits.empty()) return std::nullopt;
    return digits;
  }

  std::optional<std::string> string() {
    if (!take('"')) return std::nullopt;
    std::string value;
    while (!rest_.empty()) {
      const char c = next();
      if (c == '"') return value;
      if (c != '\\') {
        value += c;
      } else if (!append_escaped(value)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// Reads the characters behind a backslash. Of \u only control characters are known, as no others
  /// are written.
  bool append_escaped(std::string& value) {
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    const char c = next();
    if (const std::size_t known = names.find(c); known != std::string_view::npos) {
      value += meant[known];
      return true;
    }
    unsigned code = 0;
    const bool whole =
        c == 'u' && rest_.size() >= 4 &&
        std::from_chars(rest_.data(), rest_.data() + 4, code, 16).ptr == rest_.data() + 4 &&
        code < 0x80;
    if (!whole) return false;
    rest_.remove_prefix(4);
    value += static_cast<char>(code);
    return true;
  }

  std::string_view rest_;
  std::map<std::string, std::string> values_;
};

[[noreturn]] void refuse(std::string_view found, const std::string& expected) {
  throw InputError("found " + quoted(found) + ", expected " + expected);
}

/// True for `second`, false for `first`; anything else is refused.
bool chosen(const Object& object, const std::string& name, std::string_view first,
            std::string_view second) {
  const std::string value = object.text(name);
  if (value != first && value != second) {
    refuse(value, "'" + std::string(first) + "' or '" + std::string(second) + "' for " + name +
                      " in the trace's header");
  }
  return value == second;
}

std::uint64_t clock_of(const Object& object) {
  const std::string text = object.text("clock_ps");
  std::uint64_t clock = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, clock);
  if (stopped != end || error != std::errc() || clock == 0) {
    refuse(text, "a number of picoseconds from 1 for clock_ps in the trace's header");
  }
  return clock;
}

/// 0 where there is none.
std::uint64_t bytes_of(const Object& object, const std::string& name) {
  const std::string text = object.text(name);
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (!text.empty() && (stopped != end || error != std::errc()))
    refuse(text, "a number of bytes for " + name + " in the trace's header");
  return number;
}

void append_layout(std::string& line, const Layout& layout) {
  if (!layout.place.empty()) append_string(line, "place", layout.place);
  if (!layout.pages.empty()) append_string(line, "pages", layout.pages);
  if (layout.near_bytes != 0) {
    line.append(", \"near_bytes\": ").append(std::to_string(layout.near_bytes));
  }
}

}  // namespace

std::string header_line(const Header& header) {
  const Timing& timing = header.timing;
  const std::string version = std::to_string(header.version);
  std::string line(packed_magic);
  line.append(version).append(" {\"schema\": \"").append(schema).append(version).append("\"");
  append_string(line, "kind", timing.kind == Kind::memory ? "memory" : "program");
  if (timing.counts == Counts::instructions) {
    append_string(line, "counts", "instructions");
  } else {
    append_string(line, "counts", "cycles");
    append_string(line, "time", timing.absolute ? "absolute" : "relative");
  }
  if (timing.clock_ps != 0) {
    line.append(", \"clock_ps\": ").append(std::to_string(timing.clock_ps));
  }
  if (header.memory_bytes != 0) {
    line.append(", \"memory_bytes\": ").append(std::to_string(header.memory_bytes));
  }
  append_layout(line, header.layout);
  if (!header.target.empty()) append_string(line, "target", header.target);
  if (!header.command.empty()) append_string(line, "command", header.command);
  if (!header.creator.empty()) append_string(line, "creator", header.creator);
  line += "}\n";
  if (line.size() > max_header_bytes) {
    throw InputError("a trace's header may be " + std::to_string(max_header_bytes) +
                     " bytes long; shorten the command");
  }
  return line;
}

Header parse_header(std::string_view line) {
  if (!line.starts_with(packed_magic)) refuse(line, "a header 'nearfar-trace 1 {...}'");
  std::string_view rest = line.substr(packed_magic.size());
  unsigned version = 1;
  while (version <= latest_version && !rest.starts_with(std::to_string(version) + " ")) ++version;
  if (version > latest_version) {
    refuse(line.substr(0, line.find(" {")),
           "'nearfar-trace 1' or 2: a trace of another version needs the nearfar that knows it");
  }
  rest.remove_prefix(2);
  Object object(rest);
  if (!object.read()) refuse(rest, "a JSON object of strings and whole numbers in the header");
  const std::string expected = std::string(schema) + std::to_string(version);
  if (object.text("schema") != expected) {
    refuse(object.text("schema"), "schema '" + expected + "' in the trace's header");
  }

  Header header{.version = version,
                .timing = {},
                .target = object.text("target"),
                .command = object.text("command"),
                .creator = object.text("creator"),
                .memory_bytes = bytes_of(object, "memory_bytes"),
                .layout = {.place = object.text("place"),
                           .pages = object.text("pages"),
                           .near_bytes = bytes_of(object, "near_bytes")}};
  Timing& timing = header.timing;
  timing.kind = chosen(object, "kind", "memory", "program") ? Kind::program : Kind::memory;
  if (version == 2 && timing.kind != Kind::program)
    refuse("memory", "kind 'program' in the header of a trace of version 2");
  if (chosen(object, "counts", "cycles", "instructions")) {
    timing.counts = Counts::instructions;
  } else {
    timing.absolute = chosen(object, "time", "relative", "absolute");
  }
  if (!object.text("clock_ps").empty()) timing.clock_ps = clock_of(object);
  return header;
}

}  // namespace nearfar::trace
