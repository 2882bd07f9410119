#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>

#include "base/tick.h"
#include "frontend/engine.h"

namespace nearfar::frontend::system {

/// How a machine's instructions and time divide between the kernel, which has the upper half of
/// addresses as Linux has, user programs below, and before the kernel's first instruction firmware
/// and loaders.
class Shares {
 public:
  /// Code at `pc` is next. `spent` tells what the core has spent so far, and is asked only where
  /// the code belongs to another than before.
  template <typename Spent>
  void begin(std::uint64_t pc, const Spent& spent) {
    const Side side = side_of(pc);
    if (side == latest_) return;
    settle(spent());
    latest_ = side;
  }
  /// So many instructions of it.
  void add(std::uint64_t instructions) { instructions_[index()] += instructions; }
  /// What the core has spent so far.
  void settle(const Engine::Spent& spent) {
    busy_[index()] += (spent - seen_).busy;
    seen_ = spent;
  }
  /// Counts begin at nought, and so do the core's.
  void forget() {
    instructions_ = {};
    busy_ = {};
    seen_ = {};
  }

  void report(std::ostream& out) const {
    constexpr std::array<const char*, sides> names{"firmware", "user", "kernel"};
    for (std::size_t i = 0; i < sides; ++i) {
      out << "guest." << names[i] << ".instructions = " << instructions_[i] << "\nguest."
          << names[i] << ".busy_ps = " << busy_[i].ps() << '\n';
    }
  }

 private:
  enum class Side : std::uint8_t { firmware, user, kernel };
  static constexpr std::size_t sides = 3;

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(latest_); }
  Side side_of(std::uint64_t pc) {
    if (pc >> 63 == 0) return below_;
    below_ = Side::user;
    return Side::kernel;
  }

  std::array<std::uint64_t, sides> instructions_{};
  std::array<Tick, sides> busy_{};
  Engine::Spent seen_{};
  Side latest_ = Side::firmware;
  Side below_ = Side::firmware;
};

}  // namespace nearfar::frontend::system
