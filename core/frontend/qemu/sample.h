#pragma once

#include <cstdint>
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
  enum class Part : std::uint8_t { skipped, warming, counted };

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
  };

  explicit Sample(const Plan& plan) : plan_(plan), rng_(plan.seed), period_(plan.period) { draw(); }

  /// So many instructions come next: the part that they lie in, which is where they begin.
  /// `spent()` tells what the machine has spent on the program so far.
  template <typename Spent>
  Part next(std::uint64_t instructions, const Spent& spent) {
    if (part_ == Part::counted && passed_ >= at_ + plan_.window) {
      end_window(spent());
    }
    const Part part = passed_ >= at_                ? Part::counted
                      : passed_ + plan_.warm >= at_ ? Part::warming
                                                    : Part::skipped;
    if (part == Part::counted && part_ != Part::counted) {
      at_ = passed_;
      before_ = spent();
    }
    passed_ += instructions;
    return part_ = part;
  }

  /// So many instructions pass without being seen.
  void pass(std::uint64_t instructions) { passed_ += instructions; }
  /// How many may, before the next warm-up begins.
  [[nodiscard]] std::uint64_t left() const {
    if (part_ == Part::counted || passed_ + plan_.warm >= at_) return 0;
    return at_ - plan_.warm - passed_;
  }

  [[nodiscard]] std::uint64_t passed() const { return passed_; }
  [[nodiscard]] const std::vector<Window>& windows() const { return windows_; }

 private:
  void end_window(const Engine::Spent& now) {
    windows_.push_back({.period_at = period_at_,
                        .period = period_,
                        .at = at_,
                        .spent = {.instructions = now.instructions - before_.instructions,
                                  .busy = now.busy - before_.busy}});
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
  std::vector<Window> windows_;
};

}  // namespace nearfar::frontend::qemu
