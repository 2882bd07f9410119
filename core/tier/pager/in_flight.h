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
struct PageCopy {
  PageNumber page = 0;
  os::Touch touch = os::Touch::read;
  os::Protect protect = os::Protect::off;
  os::Copy copy;  ///< others see when it is over, though the thread may not have run since
  std::atomic<bool> left{true};  ///< the thread has, and looks at this no more
};

/// Those at this moment, with nothing held. They are changed and asked by whoever is the pager's
/// one thread, but for `any_unfinished`.
class InFlight {
 public:
  static constexpr std::size_t most = 16;

  /// Null if the page is among them, or there are too many.
  [[nodiscard]] PageCopy* add(PageNumber page) {
    const std::uint32_t taken = taken_.load(std::memory_order_relaxed);
    for (std::uint32_t others = taken; others != 0; others &= others - 1)
      if (copies_[first_of(others)].page == page) return nullptr;
    for (std::uint32_t free = all & ~taken; free != 0; free &= free - 1) {
      const std::uint32_t i = first_of(free);
      if (!copies_[i].left.load()) continue;
      copies_[i].left.store(false, std::memory_order_relaxed);
      copies_[i].page = page;
      copies_[i].copy = {};
      taken_.store(taken | bit(i));
      return &copies_[i];
    }
    return nullptr;
  }
  /// One that is not to begin after all.
  void give_up(PageCopy& copy) {
    copy.left.store(true);
    remove(static_cast<std::uint32_t>(&copy - copies_.data()));
  }
  /// Calls `finish` with each that is over, which then is not among them any more.
  template <typename Finish>
  void complete(const Finish& finish) {
    for (std::uint32_t left = taken_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
      const std::uint32_t i = first_of(left);
      if (!copies_[i].copy.is_over()) continue;
      remove(i);
      finish(copies_[i]);
    }
  }
  /// In a forked child, which has none.
  void clear() {
    taken_.store(0);
    for (PageCopy& copy : copies_) copy.left.store(true);
  }

  [[nodiscard]] bool any() const { return taken_.load(std::memory_order_relaxed) != 0; }
  /// Whether some are not over, for anybody who asks.
  [[nodiscard]] bool any_unfinished() const {
    for (std::uint32_t left = taken_.load(); left != 0; left &= left - 1)
      if (!copies_[first_of(left)].copy.is_over()) return true;
    return false;
  }

 private:
  static constexpr std::uint32_t all = (1U << most) - 1;

  [[nodiscard]] static std::uint32_t first_of(std::uint32_t some) {
    return static_cast<std::uint32_t>(std::countr_zero(some));
  }
  [[nodiscard]] static std::uint32_t bit(std::uint32_t i) { return 1U << i; }
  void remove(std::uint32_t i) { taken_.store(taken_.load(std::memory_order_relaxed) & ~bit(i)); }

  std::array<PageCopy, most> copies_{};
  std::atomic<std::uint32_t> taken_{0};  // a bit each
};

}  // namespace nearfar::tier
