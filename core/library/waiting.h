#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.h"

namespace nearfar::library {

/// The ports that were refused and not woken yet. Most of the time there is none, which costs one
/// comparison to find out.
class Waiting {
 public:
  [[nodiscard]] bool any() const { return count_ != 0; }
  [[nodiscard]] bool waits(std::uint16_t port) const {
    return count_ != 0 && port < ports_.size() && ports_[port];
  }

  void refuse(std::uint16_t port) {
    if (port >= ports_.size()) ports_.resize(std::size_t{port} + 1);
    if (!ports_[port]) ++count_;
    ports_[port] = true;
  }

  void wake(std::uint64_t port) {
    if (port >= ports_.size() || !ports_[port]) return;
    ports_[port] = false;
    --count_;
  }

  void state(Archive& archive) { archive(ports_, count_); }

 private:
  std::vector<bool> ports_;
  std::uint32_t count_ = 0;
};

}  // namespace nearfar::library
