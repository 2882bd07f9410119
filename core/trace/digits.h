#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

namespace nearfar::trace {

/// Numbers read eight digits at a time, where more text follows than a number can have digits: what
/// reading a text trace costs is its digits.
namespace digits {

/// The same byte eight times.
constexpr std::uint64_t every(std::uint64_t byte) { return byte * 0x0101010101010101; }

/// Eight characters, the first in the lowest byte.
inline std::uint64_t characters(const char* at) {
  std::uint64_t text = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&text, at, sizeof text);
  } else {
    for (unsigned i = 0; i < 8; ++i) {
      text |= std::uint64_t{static_cast<unsigned char>(at[i])} << 8 * i;
    }
  }
  return text;
}

/// The highest bit of every byte that is no decimal digit. Right up to the first of them: what lies
/// behind it may be touched by a carry.
constexpr std::uint64_t not_decimal(std::uint64_t text) {
  const std::uint64_t value = text ^ every('0');
  return (value | (value + every(0x80 - 10))) & every(0x80);
}

/// The same of hexadecimal ones.
constexpr std::uint64_t not_hexadecimal(std::uint64_t text) {
  const std::uint64_t letter = (text | every(0x20)) ^ every(0x60);  // 1 to 6
  const std::uint64_t no_letter = letter | (letter + every(0x80 - 7)) | ~(letter + every(0x80 - 1));
  return not_decimal(text) & no_letter;
}

/// The value of eight decimal digits, the first in the lowest byte: pairs, fours, all.
constexpr std::uint64_t decimal_value(std::uint64_t digits) {
  constexpr std::uint64_t every_fourth = 0x000000ff000000ff;
  digits = digits * 10 + (digits >> 8);
  const std::uint64_t first = (digits & every_fourth) * (100 + (std::uint64_t{1000000} << 32));
  const std::uint64_t second = (digits >> 16 & every_fourth) * (1 + (std::uint64_t{10000} << 32));
  return (first + second) >> 32;
}

constexpr std::uint64_t hexadecimal_value(std::uint64_t digits) {
  digits = (digits << 4 | digits >> 8) & 0x00ff00ff00ff00ff;
  digits = (digits << 8 | digits >> 16) & 0x0000ffff0000ffff;
  return (digits << 16 | digits >> 32) & 0xffffffff;
}

/// The value of the first `count` characters, 1 to 8 digits.
template <std::uint64_t base>
constexpr std::uint64_t value_of(std::uint64_t text, unsigned count) {
  const std::uint64_t values =
      base == 10 ? text ^ every('0') : (text & every(0x0f)) + 9 * (text >> 6 & every(1));
  // Zeros in front make eight of them.
  const std::uint64_t eight = values << 8 * (8 - count);
  return base == 10 ? decimal_value(eight) : hexadecimal_value(eight);
}

/// How many digits the eight characters begin with.
template <std::uint64_t base>
constexpr unsigned count_in(std::uint64_t text) {
  const std::uint64_t others = base == 10 ? not_decimal(text) : not_hexadecimal(text);
  return static_cast<unsigned>(std::countr_zero(others)) / 8;
}

template <std::uint64_t base>
constexpr bool is_digit(char c) {
  const auto below = [](int value, int limit) {
    return static_cast<unsigned>(value) < static_cast<unsigned>(limit);
  };
  return below(c - '0', 10) || (base == 16 && below((c | 0x20) - 'a', 6));
}

/// The same as read_digits() of any number.
template <std::uint64_t base>
[[nodiscard, gnu::noinline]] std::optional<std::uint64_t> read_long(const char*& at) {
  constexpr unsigned most = 16;
  const char* const begin = at;
  std::uint64_t value = 0;
  for (unsigned count = 8; count == 8; at += count) {
    const std::uint64_t text = characters(at);
    count = count_in<base>(text);
    if (count == 0) break;
    for (unsigned i = 0; i < count; ++i) value *= base;
    value += value_of<base>(text, count);
    if (at - begin + count > most) return std::nullopt;
  }
  if (at == begin) return std::nullopt;
  return value;
}

}  // namespace digits

/// The digits at `at` as a number, of 16 digits at most; nothing when there is none, or more.
/// Moves `at` behind them, and reads up to 24 bytes.
template <std::uint64_t base>
[[nodiscard, gnu::always_inline]] inline std::optional<std::uint64_t> read_digits(const char*& at) {
  static_assert(base == 10 || base == 16);
  const std::uint64_t text = digits::characters(at);
  const unsigned count = digits::count_in<base>(text);
  if (count == 0 || (count == 8 && digits::is_digit<base>(at[8]))) [[unlikely]]
    return digits::read_long<base>(at);
  at += count;
  return digits::value_of<base>(text, count);
}

}  // namespace nearfar::trace
