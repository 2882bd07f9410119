#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/address.h"

namespace nearfar::trace {

/// The blank-separated fields of a line, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  /// The next field; empty when there is none left.
  [[nodiscard]] std::string_view next() {
    std::size_t begin = 0;
    while (begin < rest_.size() && is_blank(rest_[begin])) ++begin;
    std::size_t end = begin;
    while (end < rest_.size() && !is_blank(rest_[end])) ++end;
    const std::string_view field = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return field;
  }

  [[nodiscard]] bool at_end() const {
    return rest_.find_first_not_of(" \t") == std::string_view::npos;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }

  std::string_view rest_;
};

/// The whole of `field` as a number of that base; nothing when it is not one, or is
/// beyond 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> number_in(std::string_view field, int base) {
  std::uint64_t value = 0;
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

[[nodiscard]] inline bool has_hex_prefix(std::string_view field) {
  return field.size() > 2 && field[0] == '0' && (field[1] == 'x' || field[1] == 'X');
}

[[nodiscard]] inline std::optional<std::uint64_t> decimal(std::string_view field) {
  return number_in(field, 10);
}

/// Hexadecimal with or without 0x.
[[nodiscard]] inline std::optional<std::uint64_t> hexadecimal(std::string_view field) {
  if (has_hex_prefix(field)) field.remove_prefix(2);
  return number_in(field, 16);
}

/// Hexadecimal with 0x, decimal without.
[[nodiscard]] inline std::optional<std::uint64_t> prefixed(std::string_view field) {
  return has_hex_prefix(field) ? hexadecimal(field) : decimal(field);
}

inline void append_hex(std::string& text, Address address) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, address.value(), 16).ptr;
  text.append("0x").append(digits, end);
}

inline void append_decimal(std::string& text, std::uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, end);
}

}  // namespace nearfar::trace
