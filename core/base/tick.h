#pragma once

#include <compare>
#include <cstdint>

namespace nearfar {

/// A point in simulated time, or a span of it, as an unsigned count of picoseconds.
///
/// 64 bits hold 213 days; picoseconds represent every JEDEC clock period in use
/// (833, 750, 682, 625, 416, 357 ps) without rounding, so nothing drifts.
class Tick {
 public:
  constexpr Tick() = default;
  constexpr explicit Tick(std::uint64_t picoseconds) : ps_(picoseconds) {}

  /// Later than every event: what an idle component answers to "when next?".
  [[nodiscard]] static constexpr Tick never() { return Tick(~std::uint64_t{0}); }

  [[nodiscard]] constexpr std::uint64_t ps() const { return ps_; }
  [[nodiscard]] constexpr double ns() const { return static_cast<double>(ps_) / 1e3; }
  [[nodiscard]] constexpr bool is_never() const { return *this == never(); }

  friend constexpr auto operator<=>(Tick, Tick) = default;
  friend constexpr Tick operator+(Tick a, Tick b) { return Tick(a.ps_ + b.ps_); }
  friend constexpr Tick operator-(Tick a, Tick b) { return Tick(a.ps_ - b.ps_); }
  friend constexpr Tick operator*(Tick a, std::uint64_t n) { return Tick(a.ps_ * n); }
  friend constexpr Tick operator*(std::uint64_t n, Tick a) { return a * n; }
  friend constexpr std::uint64_t operator/(Tick a, Tick b) { return a.ps_ / b.ps_; }
  constexpr Tick& operator+=(Tick other) {
    ps_ += other.ps_;
    return *this;
  }
  constexpr Tick& operator-=(Tick other) {
    ps_ -= other.ps_;
    return *this;
  }

 private:
  std::uint64_t ps_ = 0;
};

[[nodiscard]] constexpr Tick max(Tick a, Tick b) { return a < b ? b : a; }
[[nodiscard]] constexpr Tick min(Tick a, Tick b) { return b < a ? b : a; }

namespace literals {
constexpr Tick operator""_ps(unsigned long long n) { return Tick(n); }
constexpr Tick operator""_ns(unsigned long long n) { return Tick(n * 1000); }
constexpr Tick operator""_us(unsigned long long n) { return Tick(n * 1000 * 1000); }
}  // namespace literals

}  // namespace nearfar
