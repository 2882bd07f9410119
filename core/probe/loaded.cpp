#include "probe/loaded.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "probe/instructions.h"
#include "probe/reader.h"

namespace nearfar::probe {
namespace {

/// Accesses that a generator without a pause makes between two looks at whether it should stop.
constexpr std::uint64_t accesses_a_look = 64;
/// The clock is looked at no more often than this: looking costs some of it.
constexpr double burst_ns = 100;
/// Places that the loads and the stores of a generator each go on from by turns.
constexpr std::uint32_t sequences = 2;

/// Lines in order, through several sequences by turns.
class Turns {
 public:
  Turns(std::byte* base, Bytes area) : bytes_(area / sequences / line_bytes * line_bytes) {
    for (std::uint32_t i = 0; i < sequences; ++i) bases_[i] = base + i * bytes_;
  }

  std::byte* take() {
    std::byte* const line = bases_[turn_] + offset_;
    if (++turn_ == sequences) {
      turn_ = 0;
      offset_ += line_bytes;
      if (offset_ == bytes_) offset_ = 0;
    }
    return line;
  }

 private:
  Bytes bytes_;  ///< of one sequence
  std::array<std::byte*, sequences> bases_{};
  Bytes offset_ = 0;
  std::uint32_t turn_ = 0;
};

/// Loads the memory at its pace until the reader has finished.
class Generator {
 public:
  Generator(std::byte* base, const LoadedRequest& request)
      : loads_(base, request.area / 2),
        stores_(base + request.area / 2, request.area / 2),
        stores_of_(request.stores),
        accesses_of_(request.accesses),
        non_temporal_(request.op == Op::nt_store) {
    if (request.pause_ns <= 0) return;
    burst_ = static_cast<std::uint64_t>(std::ceil(burst_ns / request.pause_ns));
    span_ = Clock::host().cycles(request.pause_ns * static_cast<double>(burst_));
  }

  void run(const Member& member) {
    const std::uint64_t start = start_cycles();
    do {
      access();
    } while (member.carry_on());
    ns_ = Clock::host().raw_ns(stop_cycles() - start);
  }

  [[nodiscard]] double loads_per_ns() const { return static_cast<double>(loaded_) / ns_; }
  [[nodiscard]] double stores_per_ns() const { return static_cast<double>(stored_) / ns_; }

 private:
  void access() {
    switch (Isa::host().width()) {
      case Width::avx512:
        return access<Width::avx512>();
      case Width::avx2:
        return access<Width::avx2>();
      case Width::sse2:
        return access<Width::sse2>();
    }
  }

  template <Width W>
  void access() {
    for (std::uint64_t i = 0; i < burst_; ++i) access_line<W>();
    leave_vectors<W>();
    if (span_ != 0) await_next_burst();
  }

  /// Bursts begin at even times; one that memory has kept waiting is not made up for. The counter
  /// is read without fences: the wait must not hold up what is on its way.
  void await_next_burst() {
    const std::uint64_t now = cycles_now();
    next_ = std::max(next_ + span_, now);
    while (cycles_now() < next_) continue;
  }

  template <Width W>
  void access_line() {
    due_ += stores_of_;
    if (due_ < accesses_of_) {
      load_line<W>(loads_.take());
      ++loaded_;
      return;
    }
    due_ -= accesses_of_;
    // Another word each time, so that nothing is written twice.
    if (non_temporal_) {
      nt_store_line<W>(stores_.take(), ++stored_);
    } else {
      store_line<W>(stores_.take(), ++stored_);
    }
  }

  Turns loads_;
  Turns stores_;
  std::uint32_t stores_of_;
  std::uint32_t accesses_of_;
  bool non_temporal_;
  std::uint64_t burst_ = accesses_a_look;  ///< accesses between two looks at the clock
  std::uint64_t span_ = 0;  ///< cycles from one burst to the next; 0: no pause
  std::uint64_t next_ = 0;  ///< burst begins
  std::uint32_t due_ = 0;  ///< in parts of a store, `accesses_of_` to each
  std::uint64_t loaded_ = 0;
  std::uint64_t stored_ = 0;
  double ns_ = 1;
};

}  // namespace

LoadedTimings loaded(const Memory& memory, const LoadedRequest& request, const Poll& poll) {
  if (request.area < 4 * sequences * line_bytes || request.accesses == 0 ||
      (request.op != Op::store && request.op != Op::nt_store)) {
    throw InputError("loaded: found a request that cannot be measured");
  }
  memory.check_holds(request.area * request.cpus.size());
  const std::vector<std::uint32_t> next = random_cycle(request.area / line_bytes, request.seed);
  LoadedTimings timings;
  std::vector<double> loads(request.cpus.size());
  std::vector<double> stores(request.cpus.size());
  timings.disturbance = run_team(
      request.cpus,
      [&](const Member& member) {
        std::byte* const base = memory.base() + member.index() * request.area;
        if (member.leads()) link({.base = base}, next);
        flush(base, request.area);
        member.await_start();
        if (member.leads()) {
          timings.reader = read_singly(base, request.reads, member);
          return;
        }
        Generator generator(base, request);
        generator.run(member);
        loads[member.index()] = generator.loads_per_ns();
        stores[member.index()] = generator.stores_per_ns();
      },
      poll, /*stop_with_leader=*/true);
  for (const double rate : loads) timings.loads_per_ns += rate;
  for (const double rate : stores) timings.stores_per_ns += rate;
  return timings;
}

}  // namespace nearfar::probe
