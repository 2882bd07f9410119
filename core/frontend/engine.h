#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <span>

#include "base/address.h"
#include "base/settings.h"
#include "base/tick.h"
#include "frontend/page_set.h"
#include "frontend/space.h"
#include "frontend/trace_recorder.h"
#include "sim/cpu/block.h"

namespace nearfar::frontend {

/// The simulated machine, as what executes a program drives it (the QEMU plug-in, the replay of a
/// trace): threads with clocks of their own. Calls come one at a time.
class Engine {
 public:
  using Thread = std::uint32_t;
  /// Is told that a page lies in a frame from now on.
  using WatchPages = AddressSpace::Watch;

  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// A thread that begins at `at`.
  virtual Thread add_thread(Tick at) = 0;
  virtual void end_thread(Thread thread) = 0;
  /// `block` stays where it is.
  virtual void run(Thread thread, const sim::cpu::Block& block,
                   std::span<const sim::cpu::Access> accesses) = 0;
  /// So many instructions pass that are not to be simulated.
  virtual void skip(Thread thread, std::uint64_t instructions) = 0;
  /// The thread is in the kernel; and back, no earlier than `at`.
  virtual void leave(Thread thread) = 0;
  virtual void come_back(Thread thread, Tick at) = 0;
  /// What a thread's core has done, and how long it was busy with that; nothing where no core is
  /// simulated.
  struct Spent {
    std::uint64_t instructions = 0;
    Tick busy{};

    friend Spent operator-(const Spent& a, const Spent& b) {
      return {.instructions = a.instructions - b.instructions, .busy = a.busy - b.busy};
    }
  };
  [[nodiscard]] virtual Spent spent(Thread) { return {}; }

  /// What the thread's clock shows.
  [[nodiscard]] virtual Tick now(Thread thread) = 0;
  /// About the same, for comparisons.
  [[nodiscard]] virtual Tick clock(Thread thread) const = 0;
  /// Whether the thread should be held until the others, of which the slowest is at `slowest`,
  /// have come.
  [[nodiscard]] virtual bool ahead(Thread thread, Tick slowest) const = 0;

  /// Which machines of a sampled engine execute what comes: its own, the one that checks whether
  /// the warm-up is long enough, or both.
  enum class Executes : std::uint8_t { machine, both, checker };
  virtual void executes(Executes) {}
  /// As spent(), of the machine that checks.
  [[nodiscard]] virtual Spent checked(Thread) { return {}; }
  /// Instructions were skipped, and the program has touched pages with them.
  virtual void catch_up(const TouchedPages&) {}

  virtual void mapped(Address, Bytes, Mapping) {}
  virtual void unmapped(Address, Bytes) {}
  virtual void remapped(Address, Bytes, Address, Bytes) {}
  /// As the same of Program, of a whole machine.
  virtual void guest_maps(Thread, std::uint64_t /*virtual_page*/, std::uint64_t /*physical_page*/) {
  }
  virtual void forget_translations(Thread) {}
  /// The kernel writes back what the caches hold of a persistent file (msync).
  virtual void flush_range(Thread, Address, Bytes) {}

  /// At most one may watch.
  virtual void watch_pages(const WatchPages&) {}

  /// The report is of what lies in between.
  virtual void begin_region() {}
  virtual void end_region() {}
  /// Hands over what has been recorded of the trace, if there is one.
  virtual void flush_trace() {}
  /// Statistics, one `name = value` a line.
  virtual void report(std::ostream& out) = 0;
};

/// Simulates no memory: an instruction takes a cycle of `period`.
[[nodiscard]] std::unique_ptr<Engine> make_counting_engine(Tick period, Tick quantum);

/// `inner` for a program of one thread, most of which is skipped: what is skipped takes as long as
/// the same number of instructions did that were executed last, and `inner` does not see that time
/// pass. `checker`, another such machine, executes what it is told to; the program does not see its
/// time.
[[nodiscard]] std::unique_ptr<Engine> make_sampled_engine(std::unique_ptr<Engine> inner,
                                                          std::unique_ptr<Engine> checker,
                                                          Tick period);

/// The machine that a resolved model describes, with the keys `run.*` of a Program. Throws
/// InputError when they do not go together. With a `trace`, what reaches memory is recorded.
[[nodiscard]] std::unique_ptr<Engine> make_program_engine(const Settings& settings, Tick period,
                                                          std::unique_ptr<TraceRecorder> trace);

}  // namespace nearfar::frontend
