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
  const std::uint64_t no_letter =
      letter | (letter + every(0x80 - 7)) | ~(letter + every(0x80 - 1));
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

}  // namespace digits

/// The digits at `at` as a number, of 16 digits at most; nothing when there is none, or more.
/// Moves `at` behind them, and reads up to 24 bytes.
template <std::uint64_t base>
[[nodiscard, gnu::always_inline]] inline std::optional<std::uint64_t> read_digits(const char*& at) {
  static_assert(base == 10 || base == 16);
  std::uint64_t value = 0;
  unsigned read = 0;
  while (true) {
    const std::uint64_t text = digits::characters(at);
    const std::uint64_t others =
        base == 10 ? digits::not_decimal(text) : digits::not_hexadecimal(text);
    const auto count = static_cast<unsigned>(std::countr_zero(others)) / 8;
    read += count;
    if (read > 16) return std::nullopt;
    if (count == 0) break;
    at += count;
    const std::uint64_t numbers =
        base == 10 ? text ^ digits::every('0')
                   : (text & digits::every(0x0f)) + 9 * (text >> 6 & digits::every(1));
    // Zeros in front make eight of them.
    const std::uint64_t eight = numbers << 8 * (8 - count);
    if constexpr (base == 10) {
      constexpr std::uint64_t powers[] = {1,       10,       100,       1'000,      10'000,
                                          100'000, 1'000'000, 10'000'000, 100'000'000};
      value = value * powers[count] + digits::decimal_value(eight);
    } else {
      value = value << 4 * count | digits::hexadecimal_value(eight);
    }
    if (count < 8) break;
  }
  if (read == 0) return std::nullopt;
  return value;
}

}  // namespace nearfar::trace
