#pragma once

#include <cstdint>

#include "base/settings.h"

namespace nearfar::frontend::qemu {

/// Which of a program's instructions are simulated, and which of these count: the first are
/// skipped, the next warm up the machine's caches and buffers, the next are measured, and the rest
/// runs unmeasured to its end. All threads are counted together, and parts end with whole blocks.
class Window {
 public:
  enum class Part : std::uint8_t { skipped, warming, counted, beyond };

  /// From the keys `skip`, `warm` and `run`, which may be missing; without `run` all that is left
  /// counts.
  static Window from(const Settings& options) {
    const auto value = [&](const char* name) {
      return options.has(name) ? options.count(name) : std::uint64_t{0};
    };
    return {value("skip"), value("warm"), value("run")};
  }

  Window(std::uint64_t skip, std::uint64_t warm, std::uint64_t run)
      : warm_from_(skip),
        counted_from_(sum(skip, warm)),
        beyond_from_(run == 0 ? ~std::uint64_t{0} : sum(counted_from_, run)),
        part_(next(0)) {}

  /// So many instructions come next: the part that they lie in, which is where they begin.
  Part next(std::uint64_t instructions) {
    part_ = passed_ < warm_from_      ? Part::skipped
            : passed_ < counted_from_ ? Part::warming
            : passed_ < beyond_from_  ? Part::counted
                                      : Part::beyond;
    passed_ += instructions;
    return part_;
  }

  /// Where the latest lay; before the first, where it will.
  [[nodiscard]] Part part() const { return part_; }
  /// How many there have been.
  [[nodiscard]] std::uint64_t passed() const { return passed_; }

 private:
  static constexpr std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    return b > ~a ? ~std::uint64_t{0} : a + b;
  }

  std::uint64_t warm_from_;
  std::uint64_t counted_from_;
  std::uint64_t beyond_from_;
  std::uint64_t passed_ = 0;
  Part part_;
};

}  // namespace nearfar::frontend::qemu
