#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "frontend/qemu/translated.h"
#include "sim/cpu/block.h"

namespace nearfar::frontend::qemu {

/// Collects what one thread executes, until it is given to the simulated machine: executions of
/// blocks with their accesses, adjacent accesses of one instruction made one again.
///
/// QEMU tells a vector store as several narrow ones, and steps through a rep instruction element
/// by element. The steps become one execution for each 64 lines, an access for each line, as a
/// processor moves them.
class Recorder {
 public:
  struct Run {
    const Translated* block;
    std::uint32_t first;  ///< of its accesses
    bool goes_on;         ///< a further piece of the rep instruction before it
  };

  Recorder() {
    runs_.reserve(most_runs);
    accesses_.reserve(most_accesses * 2);
  }

  /// Whether it is time to give away what was collected. Asked before begin().
  [[nodiscard]] bool full() const {
    return runs_.size() >= most_runs || accesses_.size() >= most_accesses;
  }

  /// Nothing more will be collected: the memory is free.
  void release() {
    runs_ = {};
    accesses_ = {};
    load_ = store_ = none;
    executing_ = nullptr;
  }

  /// What was executed meanwhile has not been told.
  void begin_anew() { executing_ = nullptr; }

  /// A block begins to execute.
  void begin(const Translated& block) {
    const bool goes_on = executing_ != nullptr && block.goes_on(*executing_);
    executing_ = &block;
    if (goes_on && !runs_.empty() && !long_enough()) {
      offset_ = static_cast<std::uint16_t>(runs_.back().block->block.instructions.size() - 1);
      return;
    }
    runs_.push_back({&block, static_cast<std::uint32_t>(accesses_.size()), goes_on});
    offset_ = 0;
    load_ = store_ = none;
  }

  /// Executions that were collected.
  [[nodiscard]] std::size_t runs() const { return runs_.size(); }

  /// The block that executes; null before the first.
  [[nodiscard]] const Translated* current() const { return executing_; }

  /// The current block's instruction reads or writes memory.
  void access(std::uint64_t address, unsigned size, std::uint16_t instruction, bool store) {
    if (runs_.empty()) return;
    instruction = static_cast<std::uint16_t>(instruction + offset_);
    std::size_t& last = store ? store_ : load_;
    if (last != none && merge(accesses_[last], address, size, instruction)) return;
    last = accesses_.size();
    accesses_.push_back({address, static_cast<std::uint16_t>(size), instruction, store});
  }

  /// What the current block's instruction has loaded last leads to `value`: the load is marked.
  void pointer(std::uint64_t value, std::uint16_t instruction) {
    if (runs_.empty()) return;
    accesses_.push_back({.address = value,
                         .size = 0,
                         .instruction = static_cast<std::uint16_t>(instruction + offset_),
                         .pointer = true});
    load_ = none;
  }

  /// The current block's instruction flushes or prefetches the line at `address`.
  void line(std::uint64_t address, std::uint16_t instruction) {
    if (runs_.empty()) return;
    accesses_.push_back({address, 0, static_cast<std::uint16_t>(instruction + offset_), false});
  }

  /// Calls `take(run, accesses)` for everything collected, and forgets it.
  template <typename Take>
  void drain(const Take& take) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::size_t end = i + 1 < runs_.size() ? runs_[i + 1].first : accesses_.size();
      take(runs_[i], std::span(accesses_).subspan(runs_[i].first, end - runs_[i].first));
    }
    runs_.clear();
    accesses_.clear();
    load_ = store_ = none;
  }

 private:
  static constexpr std::size_t most_runs = 64;
  static constexpr std::size_t most_accesses = 1024;
  static constexpr std::size_t most_pieces = 128;
  static constexpr std::size_t none = ~std::size_t{0};

  /// Whether what a rep instruction has done so far should be an execution of its own: after 64
  /// lines or more, and a whole one if that comes soon.
  [[nodiscard]] bool long_enough() const {
    const std::size_t pieces = accesses_.size() - runs_.back().first;
    if (pieces < most_pieces) return false;
    const sim::cpu::Access& last = accesses_.back();
    const bool whole = last.address % line_bytes == 0 && last.size == line_bytes;
    return whole || pieces >= 2 * most_pieces;
  }

  [[nodiscard]] bool merge(sim::cpu::Access& last, std::uint64_t address, unsigned size,
                           std::uint16_t instruction) const {
    if (last.instruction != instruction) return false;
    const bool upwards = last.address + last.size == address;
    if (!upwards && address + size != last.address) return false;
    const bool same_line = last.address / line_bytes == address / line_bytes;
    if (runs_.back().block->ends_repeating && !same_line) return false;
    if (!upwards) last.address = address;
    last.size = static_cast<std::uint16_t>(last.size + size);
    return true;
  }

  std::vector<Run> runs_;
  std::vector<sim::cpu::Access> accesses_;
  const Translated* executing_ = nullptr;
  std::size_t load_ = none;   ///< the last one of the current execution
  std::size_t store_ = none;
  std::uint16_t offset_ = 0;  ///< of the current block's instructions in the execution
};

}  // namespace nearfar::frontend::qemu
