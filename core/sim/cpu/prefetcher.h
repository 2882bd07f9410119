#pragma once

#include <cstdint>
#include <vector>

#include "sim/cpu/cache.h"

namespace nearfar::sim::cpu {

/// What a core fetches unasked. It watches what its L2 is asked for and proposes lines (Intel's
/// optimisation manual, "Data prefetching": the L2's spatial prefetcher completes pairs of lines,
/// its streamer follows ascending and descending sequences within 4 KiB pages and runs up to 20
/// lines ahead, less far while many requests are outstanding; from Ivy Bridge on a next-page
/// prefetcher takes a sequence across the end of its page, by the program's addresses).
///
/// Lines are the program's. Where a page lies in memory is for its caller to know.
class Prefetcher {
 public:
  explicit Prefetcher(const PrefetchConfig& config);

  /// What the core's L2 was asked for, and what it has to do.
  struct Seen {
    Line line = 0;
    bool hit = false;
    std::uint32_t outstanding = 0;  ///< lines that the L2 waits for
    std::uint32_t registers = 1;    ///< as many as it can wait for
  };

  /// Appends lines worth fetching.
  void observe(const Seen& seen, std::vector<Line>& wanted);

 private:
  static constexpr Line page_lines = 64;

  /// A page in which a sequence may run.
  struct Stream {
    std::uint64_t page = no_page;
    std::uint64_t used = 0;       ///< when, to find the one to give up
    Line last = 0;
    Line fetched = 0;             ///< the furthest line proposed
    bool upward = true;
    std::uint32_t length = 0;     ///< accesses in this direction, one after another
  };

  static constexpr std::uint64_t no_page = ~std::uint64_t{0};

  [[nodiscard]] Stream* stream_of(std::uint64_t page);
  void follow(const Seen& seen, std::vector<Line>& wanted);
  void run_ahead(Stream& stream, const Seen& seen, std::vector<Line>& wanted) const;
  [[nodiscard]] std::uint32_t reach(const Seen& seen) const;

  PrefetchConfig config_;
  std::vector<Stream> streams_;
  std::uint64_t clock_ = 0;
};

}  // namespace nearfar::sim::cpu
