#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/tick.h"

namespace nearfar::policy {

/// The number of a page, whatever its owner counts by.
using Page = std::uint64_t;

enum class Tier : std::uint8_t { near, far };

/// A page that should move to the other tier, with one that makes room for it, if any must.
struct Move {
  static constexpr Page nobody = ~Page{0};
  Page in = nobody;   ///< from far to near
  Page out = nobody;  ///< from near to far
  friend bool operator==(const Move&, const Move&) = default;
};

/// What all policies may be told.
struct Limits {
  std::uint64_t near_pages = 0;  ///< that near memory holds
  Tick interval{};               ///< between decisions, for those that take their time
  std::uint64_t pairs = 0;       ///< pages exchanged at a decision, at most
};

/// Decides which pages lie in near memory. It sees accesses and says what it wants; whoever asks
/// moves the pages, at once, and charges for it. It knows no addresses, no time but what it is
/// told, and no system.
class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  /// A page that was not there is touched for the first time: where it goes. Near only while
  /// there is room.
  virtual Tier place(Page page) = 0;
  /// Memory was asked for part of the page. Appends the moves that follow.
  virtual void accessed(Page page, bool write, Tick now, std::vector<Move>& moves) = 0;
  /// The page is gone.
  virtual void removed(Page page) = 0;
};

/// A policy by its name: static, fifo, lru, hot-cold. Throws InputError for another.
[[nodiscard]] std::unique_ptr<Policy> make_policy(const std::string& name, const Limits& limits);

[[nodiscard]] std::unique_ptr<Policy> make_static(const Limits& limits);
[[nodiscard]] std::unique_ptr<Policy> make_fifo(const Limits& limits);
[[nodiscard]] std::unique_ptr<Policy> make_lru(const Limits& limits);
[[nodiscard]] std::unique_ptr<Policy> make_hot_cold(const Limits& limits);

}  // namespace nearfar::policy
