#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/tick.h"

namespace nearfar::sim::cpu {

/// One step of what a thread does to memory.
struct Step {
  enum class Kind : std::uint8_t {
    load,        ///< through the caches, if the core has any
    nt_load,     ///< leaves no trace in the caches; finds what is there
    nt_store,    ///< past the caches, which lose the line
    store,       ///< cached: brings the line in first
    store_clwb,  ///< cached, and written back at once, the line staying in the cache
    sfence,
    mfence,
    table,       ///< reads its next index from a table; `table_latency` says how long that takes
    sample_begin,
    sample_end,  ///< the time since sample_begin is one sample
    wait,        ///< until all loads and stores before it are done
    delay,       ///< nothing for `span`
  };

  Kind kind = Kind::load;
  bool waits = false;  ///< the address comes from the last load that `feeds`
  bool feeds = false;
  bool again = false;  ///< of a line that the step before accessed: counted once
  bool timed = false;  ///< the program wants to know when this load, NT store or other step ends
  std::uint32_t instructions = 0;
  Address address;
  Tick table_latency{};
  Tick span{};
  std::uint64_t tag = 0;  ///< the program's own name for a timed step
  Address leads_to{};  ///< of a load that is marked for Pre-translation: the pointer it loads
};

/// What one thread does, step by step.
class Program {
 public:
  virtual ~Program() = default;
  /// Puts the next step into `step`; false when there is none.
  virtual bool next(Step& step) = 0;

  /// Told of every timed step: a load or NT store begins when it has its buffer, and is done when
  /// its data are there or the memory has accepted it; another step begins when the thread comes
  /// to it and is done when the thread goes on.
  virtual void began(std::uint64_t, Tick) {}
  virtual void done(std::uint64_t, Tick) {}
};

}  // namespace nearfar::sim::cpu
