#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/address.h"

namespace nearfar::trace {

[[nodiscard]] constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The value of each character as a digit; 255 for those that are none in any base.
inline constexpr auto digit_values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(255);
  for (std::uint8_t i = 0; i < 10; ++i) values['0' + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    values['a' + i] = values['A' + i] = static_cast<std::uint8_t>(10 + i);
  }
  return values;
}();

/// Reads the blank-separated fields of a line, one after the other. A field that is not
/// the number asked for, or is beyond 64 bits, gives nothing, and the line is of no
/// further use.
class Fields {
 public:
  explicit Fields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  [[nodiscard]] bool at_end() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
    return at_ == end_;
  }

  /// The next field as it stands; empty when there is none left.
  [[nodiscard]] std::string_view word() {
    if (at_end()) return {};
    const char* const begin = at_;
    while (at_ != end_ && !is_blank(*at_)) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  [[nodiscard]] std::optional<std::uint64_t> decimal() { return at_end() ? none : number<10>(); }

  /// The next field if it is that many hexadecimal digits or fewer, behind 0x or not.
  [[nodiscard]] bool hexadecimal_data(std::size_t most) {
    std::string_view digits = word();
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    return !digits.empty() && digits.size() <= most &&
           std::all_of(digits.begin(), digits.end(),
                       [](char c) { return digit_values[static_cast<unsigned char>(c)] < 16; });
  }

  /// Hexadecimal with 0x, and without in that base: 10 or 16.
  [[nodiscard]] std::optional<std::uint64_t> address(unsigned base) {
    if (at_end()) return none;
    if (has_hex_prefix()) {
      at_ += 2;
      return number<16>();
    }
    return base == 10 ? number<10>() : number<16>();
  }

 private:
  static constexpr std::optional<std::uint64_t> none = std::nullopt;

  [[nodiscard]] bool has_hex_prefix() const {
    return end_ - at_ > 2 && at_[0] == '0' && (at_[1] == 'x' || at_[1] == 'X');
  }

  /// The rest of the field as a number. Reading these is most of what parsing a trace
  /// costs, hence not std::from_chars, and overflow looked for in long numbers only.
  template <std::uint64_t base>
  std::optional<std::uint64_t> number() {
    const char* const begin = at_;
    std::uint64_t value = 0;
    for (; at_ != end_; ++at_) {
      const std::uint64_t digit = digit_values[static_cast<unsigned char>(*at_)];
      if (digit >= base) break;
      value = value * base + digit;
    }
    if (at_ == begin || (at_ != end_ && !is_blank(*at_))) return none;
    constexpr std::ptrdiff_t digits_that_fit = base == 16 ? 16 : 19;
    if (at_ - begin > digits_that_fit && overflows<base>(begin)) return none;
    return value;
  }

  /// Whether the digits from `begin` on, up to where reading stands, exceed 64 bits.
  template <std::uint64_t base>
  bool overflows(const char* begin) const {
    constexpr std::uint64_t largest = ~std::uint64_t{0};
    std::uint64_t value = 0;
    for (; begin != at_; ++begin) {
      const std::uint64_t digit = digit_values[static_cast<unsigned char>(*begin)];
      if (value > (largest - digit) / base) return true;
      value = value * base + digit;
    }
    return false;
  }

  const char* at_;
  const char* end_;
};

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
