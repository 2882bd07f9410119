#pragma once

#include <cstdint>

namespace nearfar::tier {

/// Whether it pays that pages come in guarded: protected, so that the first write to one is told
/// (a fault). A page that leaves with its guard is as its copy in the far file, which then need not
/// be read to know that. Each guard that holds saves a comparison, and each that a write breaks
/// costs a fault, which takes as long as several of those.
class Guards {
 public:
  void came() {
    if (++came_ < remembered) return;
    came_ /= 2;
    broken_ /= 2;
  }
  void broken() { ++broken_; }
  void forbid() { forbidden_ = true; }

  /// Where it does not pay, a few find out when it does again.
  [[nodiscard]] bool pay() {
    if (forbidden_) return false;
    if (broken_ * worth <= came_ + some) return true;
    return ++asked_ % one_in == 0;
  }

  static constexpr std::uint32_t remembered = 4096;
  static constexpr std::uint32_t some = 64;  ///< before that, none is known to be broken
  /// A comparison takes 0.4 to 0.8 us, a fault 5.9 to 9.3 (both on the machine of docs/tiering.md).
  static constexpr std::uint32_t worth = 12;
  static constexpr std::uint32_t one_in = 64;

 private:
  std::uint32_t came_ = 0;
  std::uint32_t broken_ = 0;
  std::uint32_t asked_ = 0;
  bool forbidden_ = false;
};

}  // namespace nearfar::tier
