#pragma once

#include <cstdint>

#include "trace.h"

namespace nearfar::checker {

/// Writes a trace down by hand: every call is one command at a clock edge.
class Script {
 public:
  struct Bank {
    std::uint32_t group = 0;
    std::uint32_t bank = 0;
    std::uint32_t rank = 0;
  };

  explicit Script(std::uint64_t clock_ps) : clock_ps_(clock_ps) {}

  Script& act(std::uint64_t clock, Bank where, std::uint32_t row = 1) {
    return add(clock, Command::act, where, row, {});
  }
  Script& pre(std::uint64_t clock, Bank where) { return add(clock, Command::pre, where, {}, {}); }
  Script& rd(std::uint64_t clock, Bank where, std::uint32_t row = 1, std::uint32_t column = 0) {
    return add(clock, Command::rd, where, row, column);
  }
  Script& rda(std::uint64_t clock, Bank where) { return add(clock, Command::rda, where, 1, 0); }
  Script& wr(std::uint64_t clock, Bank where) { return add(clock, Command::wr, where, 1, 0); }
  Script& wra(std::uint64_t clock, Bank where) { return add(clock, Command::wra, where, 1, 0); }
  Script& prea(std::uint64_t clock, std::uint32_t rank = 0) {
    return add(clock, Command::prea, {0, 0, rank}, {}, {});
  }
  Script& ref(std::uint64_t clock, std::uint32_t rank = 0) {
    return add(clock, Command::ref, {0, 0, rank}, {}, {});
  }
  Script& refsb(std::uint64_t clock, std::uint32_t bank, std::uint32_t rank = 0) {
    return add(clock, Command::refsb, {0, bank, rank}, {}, {});
  }
  Script& pde(std::uint64_t clock, std::uint32_t rank = 0) {
    return add(clock, Command::pde, {0, 0, rank}, {}, {});
  }
  Script& pdx(std::uint64_t clock, std::uint32_t rank = 0) {
    return add(clock, Command::pdx, {0, 0, rank}, {}, {});
  }
  Script& sre(std::uint64_t clock, std::uint32_t rank = 0) {
    return add(clock, Command::sre, {0, 0, rank}, {}, {});
  }
  Script& srx(std::uint64_t clock, std::uint32_t rank = 0) {
    return add(clock, Command::srx, {0, 0, rank}, {}, {});
  }
  /// Moves the last command off its clock edge.
  Script& late_by_ps(std::uint64_t ps) {
    trace_.back().ps += ps;
    return *this;
  }

  operator Trace() const { return trace_; }  // NOLINT: a script is a trace in writing

 private:
  using Command = sim::dram::Command;

  Script& add(std::uint64_t clock, Command command, Bank where, std::optional<std::uint32_t> row,
              std::optional<std::uint32_t> column) {
    trace_.push_back(
        {clock * clock_ps_, command, where.rank, where.group, where.bank, row, column});
    return *this;
  }

  std::uint64_t clock_ps_;
  Trace trace_;
};

}  // namespace nearfar::checker
