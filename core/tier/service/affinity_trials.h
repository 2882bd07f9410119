#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/service/pager_cpu.h"

namespace nearfar::tier {

/// Finds out where faults are served fastest. Another processor that is idle takes them while the
/// program goes on; but it must be woken for each, which takes 2 us on some machines and 100 us on
/// others (virtual ones, whose idle processors the host has to start again), and what pages leave
/// has to be told to both. On the same processor there is nothing to wake; but where another is
/// idle, the scheduler sends a thread there that is woken while the one that wakes it runs, unless
/// that runs behind it. And who runs behind everybody may starve. None of this can be known but by
/// trying.
///
/// A trial serves faults in each way, and in each once more in reverse order, and compares the
/// times from a fault to the next, for each page that came by it: where a program reads on and on,
/// a fault brings many. Where one thread faults that runs for long in between, which varies, it
/// compares how long that waits for so long as it runs. Of the two times in a way the shorter
/// counts, as it is what others do meanwhile that makes one longer. The way that was fastest before
/// comes first, so that others which are slower than that are given up soon. What the trial has
/// lost by the slower ways sets when the next one comes, and each that finds the same as the one
/// before doubles that: trying costs little however bad the other ways are. Where pages suddenly
/// take many times what they took in the trial, and go on to, another comes at once; what no other
/// trial has confirmed stands for a moment only, and twice as long is enough, and soon: who faults
/// beside the pager's thread may stay there for a while before the scheduler sends it away at each
/// wake. Behind whoever faults on each of several processors is tried where several threads fault;
/// all ways are tried for longer then. A trial in which the program began or ceased to run for long
/// between faults tells nothing; soon there is another. Where it is told where to serve them,
/// nothing is tried, and it is back there soon after it has starved.
class AffinityTrials {
 public:
  explicit AffinityTrials(PagerCpu wanted = PagerCpu::automatic);

  /// Some faults were learnt of, at `now` in nanoseconds. `ran` is how long the only thread that
  /// faults has run in all; 0 if that is not known, or there are several. `ahead` is how many pages
  /// have come since the last time beside those that were touched. Where to serve those after them.
  PagerCpu learnt(std::uint64_t now, std::uint64_t ran, std::size_t faults, std::size_t ahead);
  /// It does not know yet where faults are served fastest, and how long threads have run says when
  /// it is worth a trial.
  [[nodiscard]] bool is_new() const { return tries_any_ && next_trial_ == 0 && !tries(); }
  /// Whether it matters now how long threads have run.
  [[nodiscard]] bool tries() const { return part_ != no_part; }
  /// It is on its way there, and what faults take meanwhile says nothing.
  void moves() { last_faults_ = 0; }
  /// Whether several threads fault. If that has changed, what was found says little.
  void several(bool fault, std::uint64_t now);
  /// Whether it may say that they are to be served on each of their processors.
  [[nodiscard]] bool considers_per_cpu() const {
    return tries_any_ ? several_ : where_ == PagerCpu::per_cpu;
  }
  /// More threads fault than before: what was found for them says little.
  void joined(std::uint64_t now);
  /// Where it was last to be, the thread did not get to run.
  void starved(std::uint64_t now);

  static constexpr std::size_t ways = 4;
  /// Of a way to serve faults, from 0 on.
  [[nodiscard]] static constexpr std::size_t index(PagerCpu cpu) {
    return static_cast<std::size_t>(cpu) - static_cast<std::size_t>(PagerCpu::any);
  }
  static constexpr std::size_t parts = 2 * ways;
  static constexpr PagerCpu first_tried = PagerCpu::same_idle;  ///< in the first trial
  static constexpr std::size_t faults_before = 256;  ///< the first trial: a short program has none
  static constexpr std::uint64_t ns_before = 3'000'000;  ///< or that the program waits before it
  static constexpr std::size_t left_out = 8;  ///< faults of a part, until the thread has moved
  static constexpr std::size_t compared = 56;
  static constexpr std::size_t left_out_per_cpu = 64;  ///< until the program's threads have, too
  /// Of several threads, as pages leave 64 at a time at most, on each of their processors 512: so
  /// many that it tells little whether one time more is among them or not.
  static constexpr std::size_t compared_of_several = 256;
  static constexpr std::size_t compared_per_cpu = 2048;
  static constexpr std::uint64_t long_ns = 100'000;  ///< from a fault to the next
  static constexpr std::uint64_t little = 4;  ///< so many times less than that is not long
  static constexpr std::uint64_t longest_ns =
      1'000'000;  ///< more for a fault, or 32 pages behind it, is a pause
  /// A part is over when it has taken so many times what all of it took in the best way before, in
  /// this trial or the last. Where who faults runs for long, what it waits for is compared, which
  /// varies more.
  static constexpr std::uint64_t hopeless_if = 2;
  static constexpr double hopeless_wait = 4;
  static constexpr std::uint64_t hopeless_wait_ns = 20'000'000;  ///< at least
  /// Times what a page took in the trial, and that so many times in a row: a host that gives the
  /// processor to somebody else for once is no reason for another.
  static constexpr std::uint64_t suspicious = 4;
  static constexpr std::uint64_t suspicious_if_unconfirmed = 2;
  static constexpr std::size_t often_enough = 4;
  /// What of a fault's time serving it on another processor must gain, as that is then not there
  /// for others: an eighth. Several threads that fault would have several without a pager, too.
  static constexpr std::uint64_t another_costs = 8;
  static constexpr std::uint64_t loss_is_worth = 50;  ///< times it, until the next: 2 %
  static constexpr std::uint64_t most_confidence = 32;
  static constexpr std::uint64_t soonest_ns = 100'000'000;
  /// If unconfirmed and suspicious; twice as long after each, until one confirms another.
  static constexpr std::uint64_t soonest_if_unconfirmed_ns = 10'000'000;
  static constexpr std::uint64_t latest_ns = 10'000'000'000;
  static constexpr std::uint64_t latest_if_unconfirmed_ns = 400'000'000;
  /// Who starves for once, as a host gave the processor to somebody else, is out for so long; who
  /// starves again within as long after that, for twice what it was out for before.
  static constexpr std::uint64_t first_out_ns = 200'000'000;

 private:
  static constexpr std::size_t no_part = parts;

  /// Faults that were served, and what they took.
  struct Served {
    std::size_t faults = 0;
    std::size_t pages = 0;
    std::uint64_t ns = 0;
    std::uint64_t ran_ns = 0;  ///< who faults, as far as is known
    std::uint64_t waited_ns = 0;  ///< the rest
    [[nodiscard]] std::uint64_t page_ns() const { return ns / pages; }
    /// Whether who faults does much else, so that what a fault costs itself is little.
    [[nodiscard]] bool runs_long() const { return ran_ns > long_ns * faults; }
    /// Whether it does little, or what it does is not known.
    [[nodiscard]] bool runs_little() const { return little * ran_ns < long_ns * faults; }
    /// How long it waits for so long as it runs; or all of the time for a page.
    [[nodiscard]] double costs(bool by_run) const {
      return static_cast<double>(by_run ? waited_ns : ns) / static_cast<double>(units(by_run));
    }
    /// Of the time, what it took more than at this cost.
    [[nodiscard]] std::uint64_t lost(double cost, bool by_run) const {
      const auto least = static_cast<std::uint64_t>(cost * static_cast<double>(units(by_run)));
      const std::uint64_t all = by_run ? waited_ns : ns;
      return all - std::min(all, least);
    }
    [[nodiscard]] std::uint64_t units(bool by_run) const { return by_run ? ran_ns : pages; }
  };

  [[nodiscard]] PagerCpu now_at() const { return part_ == no_part ? where_ : tried_in(part_); }
  [[nodiscard]] PagerCpu tried_in(std::size_t part) const;
  [[nodiscard]] static std::size_t left_out_in(PagerCpu where) {
    return where == PagerCpu::per_cpu ? left_out_per_cpu : left_out;
  }
  [[nodiscard]] std::size_t compared_in(PagerCpu where) const {
    if (where == PagerCpu::per_cpu) return compared_per_cpu;
    return several_ ? compared_of_several : compared;
  }
  void try_out(std::uint64_t now);
  void watch(std::uint64_t now);
  void begin_trial(std::uint64_t now);
  void begin_part(std::size_t part, std::uint64_t now);
  void settle(std::uint64_t now);
  void settle_later(std::uint64_t now);
  void try_when_back(std::uint64_t now);
  [[nodiscard]] bool waits_early() const;
  [[nodiscard]] bool takes_too_long() const;
  [[nodiscard]] bool waits_hopelessly() const;
  [[nodiscard]] bool is_suspicious(std::uint64_t now) const;

  bool tries_any_ = true;
  bool several_ = false;  // threads fault
  PagerCpu where_ = PagerCpu::any;
  PagerCpu first_ = first_tried;  // of a trial
  std::size_t part_ = no_part;  // of it
  std::uint64_t last_ = 0;  // that faults were learnt of
  std::uint64_t last_ran_ = 0;
  std::size_t last_faults_ = 0;
  std::size_t so_far_ = 0;  // faults before the first trial, or of this part of one
  Served served_;  // in this part, or where it has settled
  std::uint64_t expected_ns_ = 0;  // a page, where it has settled; 0: not known
  std::uint64_t best_ns_ = 0;  // a page, in the best part so far and where it had settled; 0: none
  std::uint64_t next_trial_ = 0;  // 0: there was none
  std::uint64_t settled_ = 0;
  std::size_t slow_ = 0;  // times in a row that pages took long
  std::uint64_t unconfirmed_ns_ = soonest_if_unconfirmed_ns;
  std::uint64_t confidence_ = 1;
  unsigned in_vain_ = 0;  // trials in a row that told nothing
  std::array<Served, ways> took_{};  // in the better of two parts, by where; 0: not tried
  struct Out {
    std::uint64_t ns = 0;
    std::uint64_t until = 0;
  };
  std::array<Out, ways> out_{};  // by where: it starved there
};

}  // namespace nearfar::tier
