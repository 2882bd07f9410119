#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/archive.h"
#include "base/counters.h"
#include "sim/nvdimm/config.h"
#include "sim/nvdimm/wear.h"

namespace nearfar::sim::nvdimm {

/// Which lines the Lazy cache is asked to hold: those of blocks that wear-levelling moves, if the
/// block took enough of the DIMM's media writes.
///
/// The AIT counts media writes by wear block. How many a block took since it last moved is about
/// the same for each block that moves, for that number is what moves it. Over the writes of the
/// whole DIMM in the same time it is a rate, which tells a block that takes half of all writes from
/// one that took years to come here.
class LazyAdmission {
 public:
  /// Precondition: the configuration has a Lazy cache.
  LazyAdmission(const Config& config, std::uint64_t wear_seed);

  /// A media write to the wear block of `device`.
  void count_write(Address device) {
    ++writes_;
    ++of_block_.at(device.block(block_));
  }
  /// The wear block of `device` moves: whether its priority is above the threshold. Its record
  /// begins anew.
  bool judge(Address device);

  /// Lines of a block leave the load-store queue, which without a Lazy cache is a media write.
  void count_sent(Address device);
  /// All of them stayed in the Lazy cache.
  void count_absorbed() { ++absorbed_; }
  /// The Lazy cache sends lines on to the media.
  void count_write_back() { ++write_backs_; }

  void register_counters(Counters& counters, const std::string& prefix) const;
  void state(Archive& archive) {
    archive(writes_, of_block_, moved_at_, without_, without_migrations_, absorbed_, write_backs_);
  }

 private:
  [[nodiscard]] double priority(std::uint64_t block) const;

  LazyConfig config_;
  std::uint64_t wear_writes_;
  Bytes block_;
  std::uint32_t writes_ = 0;  ///< of the DIMM; differences matter, so it may wrap
  SparseArray of_block_;  ///< since the block last moved
  SparseArray moved_at_;  ///< the DIMM's writes when it did
  WearLeveler without_;  ///< what wear-levelling would do if nothing were absorbed
  std::uint64_t without_migrations_ = 0;
  std::uint64_t absorbed_ = 0;
  std::uint64_t write_backs_ = 0;
};

}  // namespace nearfar::sim::nvdimm
