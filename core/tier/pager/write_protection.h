#pragma once

#include <cstdint>

namespace nearfar::tier {

/// Whether it pays that pages come in write_protected: protected, so that the first write to one is
/// told (a fault). A page that leaves with its protect is as its copy in the far file, which then
/// need not be read to know that. Each protect that holds saves a comparison, and each that a write
/// breaks costs a fault, which takes as long as several of those. Whether it would have held is
/// known of a page without one, too, when it leaves.
class WriteProtection {
 public:
  /// A page that could have been write_protected has left as it came, or has been written to.
  void held() { learn(held_); }
  void broken() { learn(broken_); }
  void forbid() { forbidden_ = true; }

  [[nodiscard]] bool pays() const { return !forbidden_ && broken_ * worth <= held_ + some; }

  static constexpr std::uint32_t remembered = 1024;
  static constexpr std::uint32_t some = 64;  ///< before that, none is known to be broken
  /// What a fault takes, in comparisons of a page: in a profile of random reads by two threads
  /// (perf, cpu-clock) 9.8 us, and of these 8 % in comparing.
  static constexpr std::uint32_t worth = 12;

 private:
  void learn(std::uint32_t& which) {
    ++which;
    if (held_ + broken_ < remembered) return;
    held_ /= 2;
    broken_ /= 2;
  }

  std::uint32_t held_ = 0;
  std::uint32_t broken_ = 0;
  bool forbidden_ = false;
};

}  // namespace nearfar::tier
