#pragma once

#include <cstdint>
#include <vector>

#include "sim/cpu/cache.h"

namespace nearfar::sim::cpu {

/// What a core fetches unasked. It watches what its L2 is asked for and proposes lines, never
/// beyond the 4 KiB page of what it saw (Intel's optimisation manual, "Data prefetching": the
/// L2's spatial prefetcher completes pairs of lines, its streamer follows ascending and
/// descending sequences and runs up to 20 lines ahead).
class Prefetcher {
 public:
  explicit Prefetcher(const PrefetchConfig& config);

  /// The L2 was asked for `line` and had it or not; appends lines worth fetching.
  void observe(Line line, bool hit, std::vector<Line>& wanted);

 private:
  static constexpr Line page_lines = 64;

  /// A page in which a sequence may run.
  struct Stream {
    std::uint64_t page = ~std::uint64_t{0};
    std::uint64_t used = 0;       ///< when, to find the one to give up
    std::uint32_t last = 0;       ///< line within the page
    std::uint32_t fetched = 0;    ///< the furthest line proposed
    std::int32_t direction = 0;
    std::uint32_t length = 0;     ///< accesses in this direction, one after another
  };

  void follow(Line line, std::vector<Line>& wanted);
  void run_ahead(Stream& stream, std::vector<Line>& wanted) const;

  PrefetchConfig config_;
  std::vector<Stream> streams_;
  std::uint64_t clock_ = 0;
};

}  // namespace nearfar::sim::cpu
