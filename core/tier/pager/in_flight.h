#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tier/os/uffd.h"
#include "tier/pager/page_table.h"

namespace nearfar::tier {

/// A far page that a thread copies to its place by itself.
struct Flight {
  PageNumber page = 0;
  os::Touch touch = os::Touch::read;
  os::Guard guard = os::Guard::off;
  os::Copy copy;  ///< others see when it is over, though the thread may not have run since
  std::atomic<bool> left{true};  ///< the thread has, and looks at this no more
};

/// Those at this moment, with nothing held. They are changed and asked by whoever is the pager's
/// one thread, but for `any_aloft`.
class InFlight {
 public:
  static constexpr std::size_t most = 16;

  /// Null if the page is among them, or there are too many.
  [[nodiscard]] Flight* add(PageNumber page) {
    const std::uint32_t flying = flying_.load(std::memory_order_relaxed);
    for (std::uint32_t others = flying; others != 0; others &= others - 1)
      if (flights_[first_of(others)].page == page) return nullptr;
    for (std::uint32_t free = all & ~flying; free != 0; free &= free - 1) {
      const std::uint32_t i = first_of(free);
      if (!flights_[i].left.load()) continue;
      flights_[i].left.store(false, std::memory_order_relaxed);
      flights_[i].page = page;
      flights_[i].copy = {};
      flying_.store(flying | bit(i));
      return &flights_[i];
    }
    return nullptr;
  }
  /// One that is not to take off after all.
  void give_up(Flight& flight) {
    flight.left.store(true);
    remove(static_cast<std::uint32_t>(&flight - flights_.data()));
  }
  /// Calls `land` with each that is over, which then is not among them any more.
  template <typename Land>
  void land(const Land& land) {
    for (std::uint32_t left = flying_.load(std::memory_order_relaxed); left != 0;
         left &= left - 1) {
      const std::uint32_t i = first_of(left);
      if (!flights_[i].copy.is_over()) continue;
      remove(i);
      land(flights_[i]);
    }
  }
  /// In a forked child, which has none.
  void clear() {
    flying_.store(0);
    for (Flight& flight : flights_) flight.left.store(true);
  }

  [[nodiscard]] bool any() const { return flying_.load(std::memory_order_relaxed) != 0; }
  /// Whether some are not over, for anybody who asks.
  [[nodiscard]] bool any_aloft() const {
    for (std::uint32_t left = flying_.load(); left != 0; left &= left - 1)
      if (!flights_[first_of(left)].copy.is_over()) return true;
    return false;
  }

 private:
  static constexpr std::uint32_t all = (1U << most) - 1;

  [[nodiscard]] static std::uint32_t first_of(std::uint32_t some) {
    return static_cast<std::uint32_t>(std::countr_zero(some));
  }
  [[nodiscard]] static std::uint32_t bit(std::uint32_t i) { return 1U << i; }
  void remove(std::uint32_t i) { flying_.store(flying_.load(std::memory_order_relaxed) & ~bit(i)); }

  std::array<Flight, most> flights_{};
  std::atomic<std::uint32_t> flying_{0};  // a bit each
};

}  // namespace nearfar::tier
