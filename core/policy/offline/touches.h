#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/tick.h"
#include "policy/page.h"
#include "policy/placement/placement.h"

namespace nearfar::policy {

/// Which pages memory is asked for, in order, with the passing of time: what placements are
/// compared on.
///
/// Each is one word of four bytes: an access, with its page, numbered in order of first touch, and
/// whether it writes; or steps of the clock that pass before the next access. All of them are
/// kept, as every policy is tried on the same ones and the best sequence depends on the future.
class Touches {
 public:
  /// In sixteenths of the time between two scans a first access is told from a later one.
  static constexpr unsigned steps_a_scan = 16;

  static constexpr std::uint64_t steps_a_decision = steps_a_scan * scans_a_decision;

  class Touch {
   public:
    enum Kind : std::uint32_t { reads = 0, writes = 1, steps = 2 };

    Touch(std::uint32_t value, Kind kind) : word_(value << 2U | kind) {}
    /// Of an access; of steps, how many.
    [[nodiscard]] std::uint32_t value() const { return word_ >> 2U; }
    [[nodiscard]] bool write() const { return (word_ & 3U) == writes; }
    [[nodiscard]] bool is_steps() const { return (word_ & steps) != 0; }

   private:
    std::uint32_t word_;
  };

  /// `step` is a sixteenth of the time between two scans, more than 0.
  explicit Touches(Tick step) : step_(step) {}

  /// Memory is asked for a line of the page with that number, in the caller's own numbers, at that
  /// time, no earlier than the one before. Throws InputError for pages beyond `most_pages`.
  void access(std::uint64_t number, bool write, Tick at);
  /// The trace ends then, if not before.
  void end(Tick at) { pass(at); }

  [[nodiscard]] const std::vector<Touch>& all() const { return touches_; }
  [[nodiscard]] std::uint64_t reads() const { return accesses_ - writes_; }
  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  [[nodiscard]] PageIndex pages() const { return static_cast<PageIndex>(pages_.size()); }
  /// From the start to the last access.
  [[nodiscard]] Tick duration() const { return duration_; }
  /// Between decisions.
  [[nodiscard]] Tick interval() const { return steps_a_decision * step_; }
  /// Intervals that begin in that time.
  [[nodiscard]] std::uint64_t intervals() const;

 private:
  void pass(Tick at);

  Tick step_;
  Tick duration_{};
  std::uint64_t passed_ = 0;  // steps
  std::vector<Touch> touches_;
  std::unordered_map<std::uint64_t, PageIndex> pages_;  // asked, never walked
  std::uint64_t last_number_ = ~std::uint64_t{0};
  PageIndex last_page_ = no_page;
  std::uint64_t accesses_ = 0;
  std::uint64_t writes_ = 0;
};

}  // namespace nearfar::policy
