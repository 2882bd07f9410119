#pragma once

#include <compare>
#include <cstdint>

namespace nearfar {

/// A size in bytes.
using Bytes = std::uint64_t;

/// Bytes in a cache line, the unit of every request in the machine.
inline constexpr Bytes line_bytes = 64;

/// A physical byte address. Which space it belongs to (host, device, media) is said by
/// the name that holds it.
class Address {
 public:
  constexpr Address() = default;
  constexpr explicit Address(std::uint64_t value) : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  /// Index of the block of `size` bytes (any size, not only powers of two).
  [[nodiscard]] constexpr std::uint64_t block(Bytes size) const { return value_ / size; }
  [[nodiscard]] constexpr Address aligned_down(Bytes size) const {
    return Address(value_ - value_ % size);
  }

  friend constexpr auto operator<=>(Address, Address) = default;
  friend constexpr Address operator+(Address a, Bytes n) { return Address(a.value_ + n); }
  friend constexpr Bytes operator-(Address a, Address b) { return a.value_ - b.value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace nearfar
