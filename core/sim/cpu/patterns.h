#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "sim/cpu/program.h"
#include "sim/cpu/table_caches.h"

namespace nearfar::sim::cpu {

/// Where a fence stands, and which.
enum class FencePlace : std::uint8_t { none, region, block };
enum class FenceKind : std::uint8_t { sfence, mfence };

/// A random cyclic order over `blocks` blocks: Sattolo's algorithm, O(n), every cycle
/// equally likely (Sattolo, "An algorithm to generate a random cyclic permutation", 1986).
class CyclicOrder {
 public:
  CyclicOrder(std::uint64_t blocks, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const { return next_.size(); }
  [[nodiscard]] std::uint32_t after(std::uint32_t block) const { return next_[block]; }

 private:
  std::vector<std::uint32_t> next_;
};

/// One thread's part of a pointer chase: over `regions` consecutive regions (or one region
/// again and again), block by block in a random cyclic order, every line of a block in
/// ascending order.
struct ChaseShape {
  Address base;
  Bytes region = 0;  ///< from its first byte to behind its last block
  Bytes block = 0;
  Bytes stride = 0;  ///< between blocks' beginnings; 0: one follows the other
  std::uint64_t regions = 0;
  bool repeat = false;  ///< one region, again and again
  FencePlace fence = FencePlace::region;
  FenceKind fence_kind = FenceKind::mfence;
  std::uint32_t line_instructions = 0;
  Step::Kind load = Step::Kind::nt_load;
  bool update = false;  ///< each line is stored to after its load, before the next one's
  bool flush = false;   ///< and what was stored is written back
  bool mark = false;    ///< loads of successors are marked for Pre-translation
  Tick pause{};         ///< after the last line of each block is there
};

/// Non-temporal or cached stores to each line; the successor is read from a table, so the
/// stores do not depend on the device.
class ChaseStores final : public Program {
 public:
  ChaseStores(const ChaseShape& shape, std::shared_ptr<const CyclicOrder> order, Step::Kind store,
              std::shared_ptr<TableCaches> table)
      : shape_(shape), order_(std::move(order)), table_(std::move(table)), store_(store) {}
  bool next(Step& step) override;

 private:
  ChaseShape shape_;
  std::shared_ptr<const CyclicOrder> order_;
  std::shared_ptr<TableCaches> table_;
  Step::Kind store_;
  std::uint64_t region_ = 0;
  std::uint32_t block_ = 0;
  Bytes offset_ = 0;  ///< within the block
  enum class At : std::uint8_t { table, lines, block_end, region_end } at_ = At::table;
};

/// Loads of each line; the successor comes from the last line loaded, so blocks follow one
/// another and the lines inside a block overlap. With `update`, each line is changed on the way.
class ChaseLoads final : public Program {
 public:
  ChaseLoads(const ChaseShape& shape, std::shared_ptr<const CyclicOrder> order)
      : shape_(shape), order_(std::move(order)) {}
  bool next(Step& step) override;

 private:
  ChaseShape shape_;
  std::shared_ptr<const CyclicOrder> order_;
  std::uint64_t region_ = 0;
  std::uint32_t block_ = 0;
  Bytes offset_ = 0;
  bool fence_due_ = false;
  bool update_due_ = false;
  bool pause_due_ = false;
  Address loaded_;  ///< the line to update
};

/// Read after write: stores to a whole region, a fence, loads of it in the same order.
class ChaseReadAfterWrite final : public Program {
 public:
  ChaseReadAfterWrite(const ChaseShape& shape, std::shared_ptr<const CyclicOrder> order,
                      Step::Kind store, std::shared_ptr<TableCaches> table);
  bool next(Step& step) override;

 private:
  void begin_region();

  ChaseShape shape_;
  std::shared_ptr<const CyclicOrder> order_;
  Step::Kind store_;
  std::shared_ptr<TableCaches> table_;
  std::uint64_t region_ = 0;
  std::unique_ptr<ChaseStores> stores_;
  std::unique_ptr<ChaseLoads> loads_;
};

/// Overwrites a region 256 B at a time, each with a fence, each timed.
class Overwrite final : public Program {
 public:
  Overwrite(Address base, Bytes region, std::uint64_t writes, Step::Kind store, FenceKind fence)
      : base_(base), region_(region), writes_(writes), store_(store), fence_(fence) {}
  bool next(Step& step) override;

 private:
  static constexpr Bytes chunk = 256;
  Address base_;
  Bytes region_;
  std::uint64_t writes_;
  Step::Kind store_;
  FenceKind fence_;
  std::uint64_t done_ = 0;
  std::uint32_t phase_ = 0;
};

/// An endless stream of accesses over one thread's area: `access` bytes ascending, then on
/// to the next stride, or to a random multiple of the access size.
struct StreamShape {
  Address base;
  Bytes area = 0;
  Bytes access = 0;
  Bytes stride = 0;  ///< 0: random
  Step::Kind op = Step::Kind::load;
  bool update = false;                ///< each line is loaded, then stored to
  std::uint32_t reads_percent = 100;  ///< below 100: loads among accesses of `op`
  Bytes fence_every = 0;              ///< bytes between fences; 0: none
  FenceKind fence_kind = FenceKind::sfence;
  Tick pause{};                       ///< after each access
  std::uint32_t line_instructions = 0;
  std::uint32_t access_instructions = 0;
  std::uint64_t seed = 0;
};

class StreamAccesses final : public Program {
 public:
  explicit StreamAccesses(const StreamShape& shape) : shape_(shape), rng_(shape.seed) {
    begin_access();
  }
  bool next(Step& step) override;

 private:
  void begin_access();

  StreamShape shape_;
  Rng rng_;
  Address access_;
  Bytes offset_ = 0;
  std::uint64_t accesses_ = 0;
  Bytes since_fence_ = 0;
  bool reading_ = false;
  bool pause_due_ = false;
  bool update_due_ = false;
  Address loaded_;  ///< the line to update
};

}  // namespace nearfar::sim::cpu
