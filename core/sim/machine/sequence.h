#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/counters.h"
#include "base/settings.h"
#include "base/tick.h"

namespace nearfar::sim {

/// A list of steps for a prober that decides about every single access.
///
/// A step is one word: its kind in the top byte, an operand in the 56 bits below.
struct Sequence {
  enum class Kind : std::uint8_t {
    load,      ///< past the caches, of the line at the operand, an address
    nt_store,  ///< of the line at the operand, an address
    mfence,
    sfence,
    wait,   ///< until everything before it has completed
    delay,  ///< nothing, for a number of picoseconds
    cached_load,  ///< through the core's caches, of the line at the operand, an address
    marked_load,  ///< the same, of a pointer at the operand that leads to where the next cached or
                  ///< marked load reads; marked for Pre-translation
  };
  static constexpr std::uint64_t kinds = 8;
  static constexpr std::uint32_t operand_bits = 56;

  [[nodiscard]] static constexpr std::uint64_t pack(Kind kind, std::uint64_t operand = 0) {
    return static_cast<std::uint64_t>(kind) << operand_bits | operand;
  }
  [[nodiscard]] static constexpr Kind kind_of(std::uint64_t step) {
    return static_cast<Kind>(step >> operand_bits);
  }
  [[nodiscard]] static constexpr std::uint64_t operand_of(std::uint64_t step) {
    return step & ((std::uint64_t{1} << operand_bits) - 1);
  }

  std::vector<std::uint64_t> steps;
  /// Without a core, accesses go to the memory controller as soon as fewer than `outstanding`
  /// are in flight; a fence waits for all of them. With one, a core plays the steps as its
  /// program: `outstanding` bounds its loads, each of which depends on the last one if it is 1,
  /// and stores have the write-combining buffers to themselves. 0: as many as there is room for.
  bool core = false;
  std::uint32_t outstanding = 1;
  /// So many of the first steps, all of them cached loads, take no time and only leave their
  /// lines and translations behind: what a walk finds that goes round and round.
  std::uint64_t untimed = 0;
};

/// When each step began and was done, in ps; 0 for those that take no time. A load or store begins
/// when it is first offered to the memory (by a core: when it has its buffer) and a load is done
/// when its data are there, a store when the ADR domain has accepted it. Everything else begins
/// when the steps before it have begun, and is done when the next may begin.
struct SequenceTimes {
  std::vector<std::uint64_t> issued;
  std::vector<std::uint64_t> done;
  Tick elapsed;  ///< the latest of `done`
  std::vector<Counters::Reading> counters;
};

/// Plays `sequence` on a machine built for it. Throws InputError, before anything is played,
/// for a step of no known kind, an address beyond the memory, delays of more than 106 days, a
/// cached load without a core, or an untimed step that is none.
[[nodiscard]] SequenceTimes play(const Settings& settings, const Sequence& sequence,
                                 const std::function<void()>& poll = {});

}  // namespace nearfar::sim
