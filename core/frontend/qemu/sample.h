#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/settings.h"
#include "frontend/engine.h"

namespace nearfar::frontend::qemu {

/// A systematic sample of a program's instructions (Wunderlich and others, "SMARTS", ISCA 2003): in
/// each period one window is measured, behind instructions that warm the machine up. A window's
/// place in its period is drawn, so that what the program repeats cannot fall together with the
/// periods. Parts begin and end with whole blocks.
class Sample {
 public:
  enum class Part : std::uint8_t { skipped, checking, warming, counted };

  /// Of every `check_every` windows one is checked: another machine warms up longer for it, which
  /// shows what the warm-up leaves out.
  static constexpr unsigned check_every = 8;
  static constexpr unsigned check_longer = 8;  ///< times

  /// Lengths are in instructions.
  struct Plan {
    std::uint64_t window = 0;
    std::uint64_t warm = 0;
    std::uint64_t period = 0;  ///< at least a window
    std::uint64_t doubled_after = 0;  ///< so many windows the period doubles; 0: never
    std::uint64_t seed = 1;

    /// From the keys `sample.window`, `sample.warm`, `sample.period`, `sample.doubled_after` and
    /// `sample.seed`.
    static Plan from(const Settings& options) {
      return {.window = options.count("sample.window"),
              .warm = options.count("sample.warm"),
              .period = options.count("sample.period"),
              .doubled_after = options.count("sample.doubled_after"),
              .seed = options.count("sample.seed")};
    }
  };

  /// A window that was measured, in the period that it stands for.
  struct Window {
    std::uint64_t period_at;
    std::uint64_t period;
    std::uint64_t at;
    Engine::Spent spent;
    Engine::Spent checked;  ///< by the machine that checks; nothing if it did not
  };

  explicit Sample(const Plan& plan) : plan_(plan), rng_(plan.seed), period_(plan.period) { draw(); }

  /// So many instructions come next: the part that they lie in, which is where they begin.
  /// `spent(checker)` tells what the machine, or the one that checks, has spent on the program.
  template <typename Spent>
  Part next(std::uint64_t instructions, const Spent& spent) {
    if (part_ == Part::counted && passed_ >= at_ + plan_.window) {
      end_window(spent(false), is_checked() ? spent(true) : Engine::Spent{});
    }
    const Part part = part_at(passed_);
    if (part == Part::counted && part_ != Part::counted) {
      at_ = passed_;
      before_ = spent(false);
      if (is_checked()) checked_before_ = spent(true);
    }
    passed_ += instructions;
    return part_ = part;
  }
  /// Whether the machine that checks executes the window that comes, or lasts.
  [[nodiscard]] bool is_checked() const { return windows_.size() % check_every == check_every / 2; }

  /// So many instructions pass without being seen.
  void pass(std::uint64_t instructions) { passed_ += instructions; }
  /// How many may, before the next warm-up begins.
  [[nodiscard]] std::uint64_t left() const {
    if (part_ == Part::counted || passed_ + longest_warm() >= at_) return 0;
    return at_ - longest_warm() - passed_;
  }

  [[nodiscard]] std::uint64_t passed() const { return passed_; }
  [[nodiscard]] const std::vector<Window>& windows() const { return windows_; }

 private:
  [[nodiscard]] std::uint64_t longest_warm() const {
    return is_checked() ? check_longer * plan_.warm : plan_.warm;
  }

  [[nodiscard]] Part part_at(std::uint64_t at) const {
    if (at >= at_) return Part::counted;
    if (at + plan_.warm >= at_) return Part::warming;
    return at + longest_warm() >= at_ ? Part::checking : Part::skipped;
  }

  void end_window(const Engine::Spent& now, const Engine::Spent& checked_now) {
    windows_.push_back({.period_at = period_at_,
                        .period = period_,
                        .at = at_,
                        .spent = now - before_,
                        .checked = checked_now - std::exchange(checked_before_, {})});
    part_ = Part::skipped;
    period_at_ += period_;
    if (++at_this_period_ == plan_.doubled_after) {
      period_ *= 2;
      at_this_period_ = 0;
    }
    draw();
  }

  void draw() { at_ = period_at_ + rng_.below(period_ - plan_.window + 1); }

  Plan plan_;
  Rng rng_;
  std::uint64_t period_;
  std::uint64_t period_at_ = 0;
  std::uint64_t at_this_period_ = 0;  ///< windows
  std::uint64_t at_ = 0;  ///< the next window, or the one that lasts
  std::uint64_t passed_ = 0;
  Part part_ = Part::skipped;
  Engine::Spent before_;  ///< the window
  Engine::Spent checked_before_;
  std::vector<Window> windows_;
};

}  // namespace nearfar::frontend::qemu
