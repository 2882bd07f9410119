#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "base/rng.h"
#include "sim/cpu/patterns.h"
#include "sim/cpu/program.h"

namespace nearfar::sim::cpu {

/// How fast the generators of a load go at the moment; all of a measurement look at the same one.
struct Pace {
  Tick pause{};       ///< of a thread after each access
  bool ended = false;           ///< generators that see this end
  std::uint64_t accesses = 0;   ///< that all of them have made
};

/// One generator of a load. Loads and stores go in order through lines of their own, each through
/// several sequences that take turns, every one from a random place in its part of the area: a
/// program's arrays lie on pages at random, too.
struct GeneratorShape {
  std::shared_ptr<Pace> pace;
  Address base;
  Bytes area = 0;
  Step::Kind store = Step::Kind::store;
  std::uint32_t stores = 0;  ///< of `accesses`, evenly among them
  std::uint32_t accesses = 1;
  std::uint32_t line_instructions = 0;
  std::uint64_t seed = 0;
};

class LoadGenerator final : public Program {
 public:
  /// Of the loads and of the stores each.
  static constexpr std::uint32_t sequences = 2;

  explicit LoadGenerator(const GeneratorShape& shape);
  bool next(Step& step) override;

 private:
  struct Turn {
    std::array<std::uint64_t, sequences> at{};  ///< the next line of each
    std::uint32_t next = 0;
  };
  Address take(Turn& turn, std::uint32_t first_part);

  GeneratorShape shape_;
  std::uint64_t lines_;  ///< of one sequence
  Turn loads_;
  Turn stores_;
  std::uint32_t stores_due_ = 0;  ///< in parts of a store, `accesses` to each
  bool pause_due_ = false;
};

/// What the reader saw at one pace.
struct PaceReading {
  Tick pause{};
  Tick begin{};
  Tick end{};
  Histogram latency;  ///< in ps
};

/// Loads lines in a random cyclic order, each after the one before, and sets the generators' pace:
/// first none, then pauses that offer even parts of the accesses that they made without one, from
/// all of them down, and last no generator at all. At each pace it reads `settling` lines that do
/// not count, then `reads` that do, and tells `edge` when the counting begins and when it ends.
class PacingReader final : public Program {
 public:
  struct Plan {
    std::uint32_t generators = 1;
    std::uint32_t parts = 1;      ///< as many paces with a pause
    std::uint64_t settling = 1;  ///< at least 1
    std::uint64_t reads = 1;
  };

  PacingReader(Plan plan, std::shared_ptr<Pace> pace, std::shared_ptr<const CyclicOrder> order,
               std::uint32_t line_instructions, std::function<void()> edge);
  bool next(Step& step) override;
  void began(std::uint64_t tag, Tick at) override;
  void done(std::uint64_t tag, Tick at) override;

  [[nodiscard]] const std::vector<PaceReading>& readings() const { return readings_; }

 private:
  void begin_pace();

  Plan plan_;
  std::shared_ptr<Pace> pace_;
  std::shared_ptr<const CyclicOrder> order_;
  std::uint32_t line_instructions_;
  std::function<void()> edge_;
  std::uint32_t line_ = 0;
  std::uint64_t done_ = 0;  ///< at this pace
  std::uint64_t accesses_before_ = 0;  ///< of generators, when counting began
  Tick gap_{};  ///< of a generator without a pause, from access to access in the mean
  Tick began_{};
  std::vector<PaceReading> readings_;  ///< the last one's pace is going on
};

}  // namespace nearfar::sim::cpu
