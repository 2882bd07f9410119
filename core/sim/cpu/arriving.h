#pragma once

#include <algorithm>
#include <vector>

#include "base/tick.h"
#include "sim/cpu/cache.h"

namespace nearfar::sim::cpu {

/// Lines that a core has found beyond its L1 and that are on their way there: L1 has a place for
/// them already. A core with a few registers for misses has a few of these.
template <typename Level>
class Arriving {
 public:
  struct One {
    Line line = 0;
    Level from{};
    Tick at{};
  };

  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// Null if the line is not among them.
  [[nodiscard]] const One* find(Line line) const {
    const auto found =
        std::find_if(all_.begin(), all_.end(), [line](const One& one) { return one.line == line; });
    return found == all_.end() ? nullptr : &*found;
  }
  void add(const One& one) { all_.push_back(one); }
  void remove_until(Tick now) {
    std::erase_if(all_, [now](const One& one) { return one.at <= now; });
  }

 private:
  std::vector<One> all_;
};

}  // namespace nearfar::sim::cpu
