#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/tick.h"

namespace nearfar::sim::cpu {

/// One step of what a thread does to memory.
struct Step {
  enum class Kind : std::uint8_t {
    load,
    nt_store,
    store,       ///< cached: brings the line in first
    store_clwb,  ///< cached, and written back at once, the line staying in the cache
    sfence,
    mfence,
    table,       ///< reads its next index from a table; `table_latency` says how long that takes
    sample_begin,
    sample_end,  ///< the time since sample_begin is one sample
  };

  Kind kind = Kind::load;
  bool waits = false;  ///< the address comes from the last load that `feeds`
  bool feeds = false;
  std::uint32_t instructions = 0;
  Address address;
  Tick table_latency{};
};

/// What one thread does, step by step.
class Program {
 public:
  virtual ~Program() = default;
  /// Puts the next step into `step`; false when there is none.
  virtual bool next(Step& step) = 0;
};

}  // namespace nearfar::sim::cpu
