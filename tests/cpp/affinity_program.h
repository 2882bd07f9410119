#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/service/affinity_trials.h"

namespace nearfar::tier {

/// Nanoseconds that serving a fault takes: on any processor, on the same one, there when it is
/// idle; and by a thread for each, where it matters.
using Times = std::array<std::uint64_t, 4>;

/// A program that does nothing but fault; each brings in so many pages ahead.
class Program {
 public:
  explicit Program(Times ns, PagerCpu wanted = PagerCpu::automatic) : ns_(ns), trials_(wanted) {}

  void faults(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t took = ns_[at(where_)];
      now_ += took + computes_;
      ran_ += computes_;
      lost_ += took - std::min({ns_[0], ns_[1], ns_[2]});
      ++times_[at(where_)];
      where_ = trials_.learnt(now_, ran_, 1, ahead_);
    }
  }
  void become(Times ns, std::size_t ahead = 0) {
    ns_ = ns;
    ahead_ = ahead;
  }
  /// From one fault to the next, if that is known.
  void compute(std::uint64_t ns) {
    computes_ = ns;
    if (ran_ == 0) ran_ = 1;
  }
  void pause(std::uint64_t ns) { now_ += ns; }
  void joins() { trials_.joined(now_); }
  void several(bool fault) { trials_.several(fault, now_); }
  void starves() {
    trials_.starved(now_);
    faults(1);
  }

  [[nodiscard]] PagerCpu where() const { return where_; }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::size_t times(PagerCpu where) const { return times_[at(where)]; }

 private:
  static std::size_t at(PagerCpu where) { return AffinityTrials::index(where); }

  Times ns_;
  std::size_t ahead_ = 0;
  std::uint64_t computes_ = 0;
  std::uint64_t ran_ = 0;  // 0: not known
  AffinityTrials trials_;
  PagerCpu where_ = PagerCpu::any;
  std::uint64_t now_ = 1'000'000'000;
  std::uint64_t lost_ = 0;
  std::array<std::size_t, AffinityTrials::ways> times_{};
};

// From one fault to the next is what is compared, so there is one more.
inline constexpr std::size_t part = AffinityTrials::left_out + AffinityTrials::compared + 1;
inline constexpr std::size_t trial = (AffinityTrials::parts - 2) * part;  // of one thread
inline constexpr Times slow_to_wake{100'000, 90'000, 12'000};
inline constexpr Times quick_to_wake{10'000, 14'000, 14'000};
inline constexpr std::size_t before_slow =
    AffinityTrials::left_out + AffinityTrials::ns_before / slow_to_wake[0];
inline constexpr Times all_busy{40'000, 15'000, 300'000};

}  // namespace nearfar::tier
