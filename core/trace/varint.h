#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace nearfar::trace {

/// Bytes of the longest varint.
inline constexpr std::size_t max_varint_bytes = 10;

/// Seven bits a byte, low ones first; the high bit says that more follow.
inline void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

/// As read_varint(), for one of any length.
[[nodiscard]] inline bool read_long_varint(const char*& at, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    if (shift == 63 && byte > 1) return false;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Reads a varint behind whose first byte there are max_varint_bytes, if only of padding, and
/// moves `at` behind it. False when it is longer than 64 bits.
[[nodiscard]] inline bool read_varint(const char*& at, std::uint64_t& value) {
  const auto first = static_cast<unsigned char>(*at);
  if (first < 0x80) {
    ++at;
    value = first;
    return true;
  }
  if constexpr (std::endian::native != std::endian::little) return read_long_varint(at, value);
  // Up to eight bytes at once: those up to the first whose high bit is clear, each of which then
  // gives up that bit to its neighbours.
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint64_t ends = ~word & 0x8080'8080'8080'8080;
  if (ends == 0) return read_long_varint(at, value);
  word &= ends ^ (ends - 1);
  word = (word & 0x007f'007f'007f'007f) | (word & 0x7f00'7f00'7f00'7f00) >> 1;
  word = (word & 0x0000'3fff'0000'3fff) | (word & 0x3fff'0000'3fff'0000) >> 2;
  value = (word & 0x0000'0000'0fff'ffff) | (word & 0x0fff'ffff'0000'0000) >> 4;
  at += (std::countr_zero(ends) + 1) / 8;
  return true;
}

/// The difference of two numbers modulo 2^64, small for a small one of either sign.
[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (0 - (value & 1));
}

}  // namespace nearfar::trace
