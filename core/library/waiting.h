#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/archive.h"

namespace nearfar::library {

/// The ports that were refused and not woken yet. Most of the time there is none, which costs one
/// comparison to find out; a port below 64, of which most hosts have one, is a bit of a word.
class Waiting {
 public:
  [[nodiscard]] bool any() const { return (low_ | high_) != 0; }
  [[nodiscard]] bool waits(std::uint16_t port) const {
    if (port < word) return (low_ >> port & 1) != 0;
    return high_ != 0 && index(port) < ports_.size() && ports_[index(port)];
  }

  void refuse(std::uint16_t port) {
    if (port < word) {
      low_ |= std::uint64_t{1} << port;
    } else {
      refuse_high(port);
    }
  }

  void wake(std::uint64_t port) {
    if (port < word) {
      low_ &= ~(std::uint64_t{1} << port);
    } else {
      wake_high(port);
    }
  }

  void state(Archive& archive) { archive(low_, high_, ports_); }

 private:
  static constexpr std::uint64_t word = 64;

  static std::size_t index(std::uint64_t port) { return port - word; }

  [[gnu::noinline]] void refuse_high(std::uint64_t port) {
    if (index(port) >= ports_.size()) ports_.resize(index(port) + 1);
    if (!ports_[index(port)]) ++high_;
    ports_[index(port)] = true;
  }
  [[gnu::noinline]] void wake_high(std::uint64_t port) {
    if (index(port) >= ports_.size() || !ports_[index(port)]) return;
    ports_[index(port)] = false;
    --high_;
  }

  std::uint64_t low_ = 0;  ///< by port
  std::uint64_t high_ = 0;  ///< how many of the others wait
  std::vector<bool> ports_;  ///< the others, from 64 on
};

}  // namespace nearfar::library
