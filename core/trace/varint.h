#pragma once

#include <cstddef>
#include <cstdint>
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

/// Reads a varint that is known to end before max_varint_bytes or to have as many bytes there,
/// and moves `at` behind it. False when it is longer than 64 bits.
///
/// Each byte clears the bit of the one before it that announced it.
[[nodiscard, gnu::always_inline]] inline bool read_varint(const char*& at, std::uint64_t& value) {
  const auto byte = [](char c) { return std::uint64_t{static_cast<unsigned char>(c)}; };
  std::uint64_t next = byte(at[0]);
  value = next;
  if (next < 0x80) {
    at += 1;
    return true;
  }
  next = byte(at[1]);
  value += (next - 1) << 7;
  if (next < 0x80) {
    at += 2;
    return true;
  }
  next = byte(at[2]);
  value += (next - 1) << 14;
  if (next < 0x80) {
    at += 3;
    return true;
  }
  next = byte(at[3]);
  value += (next - 1) << 21;
  if (next < 0x80) {
    at += 4;
    return true;
  }
  return read_long_varint(at, value);
}

/// The difference of two numbers modulo 2^64, small for a small one of either sign.
[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (0 - (value & 1));
}

}  // namespace nearfar::trace
