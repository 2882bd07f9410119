#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "base/tick.h"
#include "sim/cpu/block.h"

namespace nearfar::frontend::qemu {

/// The simulated machine, as the plug-in drives it: threads with clocks of their own. Calls come
/// one at a time.
class Engine {
 public:
  using Thread = std::uint32_t;

  virtual ~Engine() = default;

  /// A thread that begins at `at`.
  virtual Thread add_thread(Tick at) = 0;
  virtual void end_thread(Thread thread) = 0;
  virtual void run(Thread thread, const sim::cpu::Block& block,
                   std::span<const sim::cpu::Access> accesses) = 0;
  /// So many instructions pass that are not to be simulated.
  virtual void skip(Thread thread, std::uint64_t instructions) = 0;
  /// The thread does nothing until then; a time that is past changes nothing.
  virtual void wait(Thread thread, Tick until) = 0;
  [[nodiscard]] virtual Tick now(Thread thread) const = 0;
  /// Statistics, one `name = value` a line.
  virtual void report(std::ostream& out) = 0;
};

/// Simulates no memory: an instruction takes a cycle of `period`.
[[nodiscard]] std::unique_ptr<Engine> make_counting_engine(Tick period);

}  // namespace nearfar::frontend::qemu
