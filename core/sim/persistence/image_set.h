#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "sim/persistence/program.h"

namespace nearfar::sim::persistence {

/// 128 bits that stand for contents. Of a million different ones, two are taken for equal with
/// a probability of 10^-27.
struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(Fingerprint, Fingerprint) = default;
  /// Of two disjoint parts, together.
  friend constexpr Fingerprint operator^(Fingerprint a, Fingerprint b) {
    return {a.low ^ b.low, a.high ^ b.high};
  }
};

/// A bijection that leaves no pattern (the finalizer of SplitMix64).
[[nodiscard]] constexpr std::uint64_t scatter(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

[[nodiscard]] constexpr Fingerprint extend(Fingerprint print, std::uint64_t value) {
  return {scatter(print.low + value + 0x9e3779b97f4a7c15u),
          scatter((print.high ^ value) * 0xff51afd7ed558ccdu + 0xc4ceb9fe1a85ec53u)};
}

[[nodiscard]] constexpr Fingerprint fingerprint(std::uint32_t line, const Words& words) {
  Fingerprint print = extend({1, 2}, line);
  for (const std::uint64_t word : words) print = extend(print, word);
  return print;
}

[[nodiscard]] inline Fingerprint fingerprint(const std::vector<bool>& labels) {
  Fingerprint print{3, 4};
  for (const bool passed : labels) print = extend(print, passed ? 1 : 0);
  return print;
}

/// The states seen so far.
class ImageSet {
 public:
  /// False when it was there already.
  bool add(Fingerprint print) { return prints_.insert(print).second; }
  [[nodiscard]] bool has(Fingerprint print) const { return prints_.contains(print); }
  [[nodiscard]] std::uint64_t size() const { return prints_.size(); }

 private:
  struct Hash {
    std::size_t operator()(Fingerprint print) const { return print.low; }
  };
  std::unordered_set<Fingerprint, Hash> prints_;  // never iterated
};

}  // namespace nearfar::sim::persistence
