#pragma once

#include <cstdint>

#include "base/archive.h"
#include "sim/dram/config.h"

namespace nearfar::sim::dram {

/// Decides when writes are served although reads wait.
///
/// A drain starts when the write queue reaches its high watermark, or when the writes have
/// let `patience` reads pass. It serves a fixed number of writes, so writes that keep coming
/// cannot hold the reads back; the reads that waited at its end come before the next drain.
/// Outside drains writes are served while there is no read.
class WriteDrain {
 public:
  static constexpr std::uint32_t patience = 512;

  explicit WriteDrain(const Config& config) : high_(config.write_high), low_(config.write_low) {}

  [[nodiscard]] bool active() const { return left_ > 0; }

  /// `writes` are queued, one more than before.
  void write_queued(std::uint32_t writes) { start_if_full(writes); }

  /// A read was issued; `writes` are queued.
  void read_issued(std::uint32_t writes) {
    if ((reads_owed_ | writes) == 0) return;
    if (reads_owed_ > 0) --reads_owed_;
    if (writes == 0) return;
    ++reads_passed_;
    start_if_full(writes);
    if (left_ == 0 && reads_passed_ >= patience) left_ = writes;
  }

  /// A write was issued; `writes` and `reads` remain queued.
  void write_issued(std::uint32_t writes, std::uint32_t reads) {
    if (writes == 0) reads_passed_ = 0;
    if (left_ == 0) return;
    left_ = writes == 0 ? 0 : left_ - 1;
    if (left_ > 0) return;
    reads_owed_ = reads;
    reads_passed_ = 0;
  }

  void state(Archive& archive) { archive(left_, reads_owed_, reads_passed_); }

 private:
  void start_if_full(std::uint32_t writes) {
    if (left_ == 0 && reads_owed_ == 0 && writes >= high_) left_ = writes - low_;
  }

  std::uint32_t high_;
  std::uint32_t low_;
  std::uint32_t left_ = 0;          ///< writes that this drain still serves
  std::uint32_t reads_owed_ = 0;    ///< reads that come before the next drain
  std::uint32_t reads_passed_ = 0;  ///< reads issued while writes waited, since the last drain
};

}  // namespace nearfar::sim::dram
