#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/address.h"
#include "sim/cpu/program.h"

namespace nearfar::sim::testing {

/// A program that plays a list of steps.
class Scripted final : public cpu::Program {
 public:
  explicit Scripted(std::vector<cpu::Step> script) : script_(std::move(script)) {}
  bool next(cpu::Step& step) override {
    if (at_ == script_.size()) return false;
    step = script_[at_++];
    return true;
  }

 private:
  std::vector<cpu::Step> script_;
  std::size_t at_ = 0;
};

/// A step of one kind, to the line of that number.
inline cpu::Step step_of(cpu::Step::Kind kind, std::uint64_t line = 0) {
  cpu::Step step;
  step.kind = kind;
  step.address = Address(line * line_bytes);
  return step;
}

}  // namespace nearfar::sim::testing
