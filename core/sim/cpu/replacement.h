#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"

namespace nearfar::sim::cpu {

/// Which line of a full set leaves.
///
///   lru     the least recently used: what most models assume and few real caches do
///   plru    tree-PLRU: a bit per node of a binary tree over the ways points away from the one
///           used last (L1 and, in some generations, L2 of Intel cores)
///   qlru    two bits of age a line: a hit makes it young, a new line starts at 1, the leftmost
///           of age 3 leaves, and if there is none all grow older (QLRU_H11_M1_R0_U0 in the
///           naming of Abel and Reineke; they found its family in the L2 and L3 of Intel cores:
///           "nanoBench", ISPASS 2020)
///   random  any
enum class Policy : std::uint8_t { lru, plru, qlru, random };

/// Throws InputError, naming `key`, for a name that is none of the above.
[[nodiscard]] Policy policy_of(const std::string& name, const std::string& key);

/// What a cache remembers of the use of its lines, for all its sets.
class Replacement {
 public:
  Replacement(Policy policy, std::uint64_t sets, std::uint32_t ways, std::uint64_t seed);

  void hit(std::uint64_t set, std::uint32_t way) {
    if (policy_ == Policy::plru) {
      state_[set] = (state_[set] & ~path_[way].all) | path_[way].away;
    } else {
      hit_others(set, way);
    }
  }
  void filled(std::uint64_t set, std::uint32_t way);
  /// The way that a new line takes in a full set.
  [[nodiscard]] std::uint32_t victim(std::uint64_t set);

 private:
  /// The nodes of the tree between the root and a way, and those of them that point away from it
  /// when they point to the upper half.
  struct Path {
    std::uint64_t all = 0;
    std::uint64_t away = 0;
  };

  void hit_others(std::uint64_t set, std::uint32_t way);
  [[nodiscard]] static Path path_to(std::uint32_t way, std::uint32_t ways);

  Policy policy_;
  std::uint32_t ways_;
  std::vector<std::uint64_t> state_;  ///< lru: time of the last use, a way; plru: the tree, a set
  std::vector<Path> path_;  ///< plru, a way of any set
  std::vector<std::uint8_t> ages_;  ///< qlru, a way
  std::uint64_t clock_ = 0;
  Rng rng_;
};

}  // namespace nearfar::sim::cpu
