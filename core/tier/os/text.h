#pragma once

#include <cstdint>

namespace nearfar::tier::os {

/// Writes text, without what ends it, or a number in decimal; returns the end. For paths and lines
/// where libc may not be called.
inline char* put(char* to, const char* text) noexcept {
  while (*text != '\0') *to++ = *text++;
  return to;
}
inline char* put(char* to, unsigned long value) noexcept {
  char digits[24];
  int n = 0;
  do {
    digits[n++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (n > 0) *to++ = digits[--n];
  return to;
}

/// The number that text begins with, behind spaces; 0 if there is none.
[[nodiscard]] inline std::uint64_t number(const char* text) noexcept {
  while (*text == ' ' || *text == '\t') ++text;
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  return value;
}

}  // namespace nearfar::tier::os
