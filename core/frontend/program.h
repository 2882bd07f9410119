#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/settings.h"
#include "base/time_series.h"
#include "frontend/activity.h"
#include "frontend/guest_pages.h"
#include "frontend/line_writes.h"
#include "frontend/mover.h"
#include "frontend/page_gate.h"
#include "frontend/page_set.h"
#include "frontend/space.h"
#include "frontend/trace_recorder.h"
#include "sim/cpu/cores.h"
#include "sim/machine/tiers.h"

namespace nearfar::frontend {

/// A program that runs on a simulated machine. Its executor (the QEMU plug-in, a replayed trace)
/// tells it what the program does, and asks for its time. Calls come one at a time.
///
///     Program program(settings, Program::Options::from(settings));
///     const Program::Thread thread = program.thread_started();
///     program.run(thread, block, accesses);          // again and again
///     ...  program.now(thread)                       // what the program's clock shows
///     program.report(out);
///
/// Every thread has its own core while it lasts. run() plays what can be played and keeps the rest
/// until the other threads have got as far: a thread whose `ahead()` is true should be held until
/// it is not. For one that does not run (in a system call, waiting, ended) left() must be called,
/// or all the others wait for it.
class Program {
 public:
  using Thread = sim::cpu::Cores::Thread;

  /// How the program's memory is laid out.
  struct Options {
    Place place = Place::far;
    std::string policy;  ///< with Place::policy: cached:NAME, flat:NAME or oracle:NAME
    Bytes near_bytes = 0;   ///< of near memory the program may use; 0: all of it
    bool huge_pages = false;
    Tick interval{1'000'000'000};  ///< between a policy's decisions
    std::uint64_t pairs = 256;     ///< of pages that it exchanges in a decision, at most
    policy::Detector detector = policy::Detector::accessed;  ///< that tells it of their use
    bool whole_machine = false;  ///< a guest's: see guest_maps()

    /// From the keys `run.place` (near, far, interleave, cached:NAME, flat:NAME or oracle:NAME),
    /// `run.near`, `run.pages` (small, huge), `run.interval`, `run.pairs`, `run.detector`,
    /// `run.whole_machine`, all of which may be missing.
    [[nodiscard]] static Options from(const Settings& settings);
  };

  /// Throws InputError when model and options do not fit together.
  Program(const Settings& settings, const Options& options);

  /// Writes down what reaches memory from here on: lines and fences of every thread, and as those
  /// of `moving_thread` lines of pages that move. The recorder's Take may throw; that ends run().
  void record(std::unique_ptr<TraceRecorder> recorder) { trace_ = std::move(recorder); }
  /// Hands over what has been recorded so far.
  void flush_trace() {
    if (trace_) trace_->flush();
  }
  static constexpr std::uint16_t moving_thread = 0xffff;

  /// A thread that begins at `at`, or now if that is past.
  Thread thread_started(Tick at = Tick{});
  void thread_ended(Thread thread);

  /// What the thread has executed. `block` has to stay where it is for as long as the program.
  /// Throws InputError when memory runs out.
  void run(Thread thread, const sim::cpu::Block& block, std::span<const sim::cpu::Access> accesses);
  /// Writes lines back as one clwb each would: for flushes whose addresses are known by range.
  void flush_range(Thread thread, Address address, Bytes bytes);

  /// The thread is in the kernel, or gone: the others do not wait for it.
  void left(Thread thread);
  /// And runs again, no earlier than `at` or where the threads that run have got.
  void came_back(Thread thread, Tick at = Tick{});
  /// The thread does nothing until then.
  void wait(Thread thread, Tick until);

  void mapped(Address address, Bytes bytes, Mapping kind) { space_.mapped(address, bytes, kind); }
  void unmapped(Address address, Bytes bytes) {
    space_.unmapped(address, bytes);
    seen_.remove(address.value(), address.value() + bytes);
  }
  void remapped(Address from, Bytes from_bytes, Address to, Bytes to_bytes) {
    space_.remapped(from, from_bytes, to, to_bytes);
    seen_.remove(from.value(), from.value() + from_bytes);
  }

  /// Of a whole machine: mapped() is what memory it has, by its physical addresses, and run() gets
  /// virtual ones. Of each page it must be told before which of the guest's physical ones it is, by
  /// their numbers in pages of 4 KiB; and again when it is another.
  void guest_maps(Thread thread, std::uint64_t virtual_page, std::uint64_t physical_page);
  /// The guest has changed its page tables: as Tlb::forget_lower_half(). Pages of that half must be
  /// told again.
  void forget_translations(Thread thread);

  /// The program has touched pages that `touched` tells of, while nothing was
  /// simulated. They get frames; and lines of those that were not seen so lie in the L3, clean, as
  /// far as it has room: what the program used long ago would be there.
  void catch_up(const TouchedPages& touched);

  void watch_pages(AddressSpace::Watch watch) { space_.watch(std::move(watch)); }

  /// More than a quantum's worth of the thread's instructions waits for other threads.
  [[nodiscard]] bool ahead(Thread thread) const { return cores_.ahead(thread); }
  /// Nothing follows for a while what the thread has executed.
  void play_fed(Thread thread) { cores_.play_fed(thread); }
  /// About where the thread is: cheap, and changes nothing.
  [[nodiscard]] Tick clock(Thread thread) const { return cores_.clock(thread); }
  /// What the thread's core has counted, of what it has played.
  [[nodiscard]] const sim::cpu::CoreCounts& counts(Thread thread) const {
    return cores_.counts(thread);
  }
  /// When all that the thread has executed is done, as a clock would show that it reads. As far as
  /// it is known, if that takes input of other threads that is not here yet.
  Tick now(Thread thread);

  /// What is reported begins here; and ends here, if it does before the program.
  void roi_begin();
  void roi_end();

  /// Statistics, when all that is under way is done: one `name = value` a line, in whole numbers of
  /// base units.
  void report(std::ostream& out);

 private:
  /// Sums that only grow, at some time: what happened since is their difference.
  struct Baseline {
    Tick at{};
    std::vector<Counters::Reading> counters;
  };

  void begin(Tick at);
  void into_caches(std::uint64_t page);
  [[nodiscard]] sim::cpu::PageMap& pages() {
    if (guest_) return *guest_;
    return space_;
  }
  void sent(sim::cpu::Socket::Traffic what, std::uint16_t core, Address line, Tick at);
  [[nodiscard]] std::uint64_t executed(Thread thread) const;
  void after_step();
  void look(Thread thread);
  void look_at_all();
  void write_counters(std::ostream& out);
  void write_threads(std::ostream& out) const;
  void write_tiers(std::ostream& out) const;
  void write_over_time(std::ostream& out) const;
  void write_page(std::ostream& out, std::uint64_t address, const AddressSpace::Page& page) const;
  void write_pages(std::ostream& out) const;
  void write_map(std::ostream& out) const;
  void write_wear(std::ostream& out) const;
  void write_hottest_lines(std::ostream& out) const;
  [[nodiscard]] Tick end() const;

  std::unique_ptr<sim::Tiers> memory_;
  AddressSpace space_;
  std::unique_ptr<GuestPages> guest_;  ///< null: the program's addresses are those of its memory
  sim::cpu::Socket socket_;
  sim::cpu::Cores cores_;
  Mover mover_;
  PageGate gate_;
  std::unique_ptr<GuestGate> guest_gate_;
  std::unique_ptr<TraceRecorder> trace_;
  Counters counters_;
  Baseline baseline_;
  std::string frozen_;  ///< the report of a region of interest that has ended

  struct Touch {
    Address line;
    bool write = false;
    Tick at{};
  };
  std::vector<Touch> touched_;
  std::vector<AddressSpace::Copy> copies_;
  std::uint64_t moves_seen_ = 0;  ///< of pages, that traffic_ has
  /// Lines of near memory read and written, then of far memory; and pages moved.
  static constexpr std::size_t traffic_kinds = 5;
  TimeSeries<traffic_kinds> traffic_;
  std::uint64_t table_lines_ = 0;  ///< of the traffic, by page walks
  Activity activity_;
  LineWrites far_writes_;
  PageSet seen_;  ///< by catch_up()
};

}  // namespace nearfar::frontend
