#pragma once

#include <cstdint>
#include <vector>

namespace nearfar::sim::cpu {

/// Guesses which block follows which, from where the program has been lately: a table of targets
/// that is looked up by block and history, as in the simplest target predictors (Chang, Hao and
/// Patt, "Target prediction for indirect jumps", ISCA 1997). It learns loops of constant length
/// and correlated branches up to its history, and never those that depend on data.
class BranchPredictor {
 public:
  /// `targets`: a power of two.
  explicit BranchPredictor(std::uint32_t targets) : targets_(targets) {}

  /// The program goes on at `pc`: whether that was expected.
  bool follow(std::uint64_t pc) {
    std::uint64_t& target = targets_[place_ & (targets_.size() - 1)];
    const bool right = target == pc;
    target = pc;
    history_ = (history_ << 3) ^ (pc >> 1);
    place_ = (pc * multiplier ^ (history_ & history_mask) * multiplier) >> 32;
    return right;
  }

 private:
  static constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15u;
  static constexpr std::uint64_t history_mask = (std::uint64_t{1} << 36) - 1;

  std::vector<std::uint64_t> targets_;
  std::uint64_t history_ = 0;
  std::uint64_t place_ = 0;
};

}  // namespace nearfar::sim::cpu
