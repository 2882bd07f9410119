#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cpu/block.h"

namespace nearfar::sim::cpu {

/// Guesses which block follows which.
///
/// A direct jump's target is known in time, a return's is that of its call. What a condition or a
/// register decides is looked up in tables by block and by longer and longer history of such
/// decisions, the longest that knows it is believed (Seznec and Michaud, "A case for (partially)
/// tagged geometric history length branch prediction", JILP 2006); a condition that no table
/// knows is taken to fail. What depends on data is not learnt by any of them.
class BranchPredictor {
 public:
  /// `targets`: of each table, a power of two.
  explicit BranchPredictor(std::uint32_t targets);

  /// The program goes on with `block`: whether that was expected.
  bool follow(const Block& block) {
    condition_ = last_.end == BlockEnd::conditional;
    const bool right = arrive(block.pc);
    last_ = {.pc = block.pc, .next = block.next, .target = block.target, .end = block.end};
    return right;
  }

  /// Whether a block was expected by the last call of follow(), behind a condition.
  [[nodiscard]] bool expected(const Block& block) const {
    return condition_ && guess_ == static_cast<std::uint32_t>(block.pc);
  }

 private:
  static constexpr std::size_t tables = 4;
  static constexpr std::size_t calls = 16;  ///< Skylake's return stack (Fog, microarchitecture)

  /// Where the block before can lead.
  struct Exit {
    std::uint64_t pc = 0;
    std::uint64_t next = 0;
    std::uint64_t target = 0;
    BlockEnd end = BlockEnd::unknown;
  };
  struct Entry {
    std::uint32_t target = 0;  ///< its lower half
    std::uint16_t tag = 0;
    std::uint8_t trust = 0;  ///< 0 to 3
    bool used = false;
  };

  struct Place {
    Entry* entry = nullptr;
    std::uint16_t tag = 0;
  };

  bool arrive(std::uint64_t pc);
  bool learn(std::uint64_t pc);
  [[nodiscard]] Place place_in(std::size_t table);
  static void update(Entry& entry, std::uint32_t target);
  void remember(std::size_t first, std::uint32_t target);

  std::vector<Entry> entries_;  ///< of all tables, one behind the other
  std::uint64_t mask_;
  std::uint64_t history_ = 0;
  std::array<std::uint64_t, calls> returns_{};  ///< a ring
  std::size_t depth_ = 0;
  Exit last_;
  std::uint32_t guess_ = 0;  ///< the lower half of a block's address
  bool condition_ = false;
};

}  // namespace nearfar::sim::cpu
