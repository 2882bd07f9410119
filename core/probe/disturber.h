#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "probe/clock.h"
#include "probe/instructions.h"
#include "probe/kernels.h"

namespace nearfar::probe {

/// What a disturber does.
struct Disturbing {
  bool chases = false;  ///< dependent loads along a chain; otherwise accesses at random
  Op op = Op::nt_store;
  Width width = Width::sse2;
  std::uint64_t delay = 0;  ///< cycles from an access to the next, at least
};

/// Accesses the memory beside a reader. Compiled into the Linux module, too.
class Disturber {
 public:
  Disturber(std::byte* base, Bytes area, const Disturbing& what, std::uint64_t seed)
      : what_(what),
        accesses_{.base = base, .area = area, .reads_percent = 0},
        state_{.done = 0, .random = seed, .since_fence = 0},
        at_(base),
        kernel_(access_kernel(what.op, what.width)) {}

  /// Whether there is no delay to be waited for. The counter is read without fences: a wait must
  /// not hold up what is on its way.
  [[nodiscard]] bool due() const { return what_.delay == 0 || cycles_now() >= next_; }

  /// Makes `count` accesses, between which nothing is waited for; one where there is a delay. The
  /// delay of one that chases begins with its answer, which it needs before it can go on.
  void access(std::uint64_t count) {
    const std::uint64_t begin = cycles_now();
    if (what_.chases) {
      at_ = follow(at_, count);
    } else {
      kernel_(accesses_, state_, count);
    }
    done_ += count;
    if (what_.delay != 0) next_ = (what_.chases ? stop_cycles() : begin) + what_.delay;
  }

  [[nodiscard]] bool pauses() const { return what_.delay != 0; }
  /// Lines, so far.
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  Disturbing what_;
  Accesses accesses_;
  AccessState state_;
  std::byte* at_ = nullptr;
  AccessKernel kernel_ = nullptr;
  std::uint64_t next_ = 0;  ///< access, not before
  std::uint64_t done_ = 0;
};

}  // namespace nearfar::probe
