#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/counters.h"
#include "base/tick.h"
#include "sim/nvdimm/config.h"
#include "sim/nvdimm/power_budget.h"

namespace nearfar::sim::nvdimm {

/// The storage media: partitions behind one data path, under a power budget.
///
/// Neighbouring blocks lie in different partitions, and so do the same blocks of neighbouring
/// pages. An access keeps its partition busy (`read_partition`, `write_partition`); partitions
/// work in parallel, up to one block in `read_interval` or `write_interval` on the data path
/// they share. A write merges its lines with the old block inside the media, so part of a
/// block costs what the whole does, as measured.
///
/// Reads go first until `write_high` writes wait, or until `read_batch` reads
/// have passed a waiting write. Then up to `write_batch` writes pass in a row; after them the
/// reads that waited have their turn before writes can go first again.
class Media {
 public:
  using Tag = std::uint32_t;

  struct Started {
    Tag tag;
    bool write;
    Tick done;  ///< read: the block is there; write: it is stored
  };

  Media(const MediaConfig& config, Bytes page, Bytes block, const PowerBudget& budget = {});

  /// `media` is the media address of a whole block.
  void read(Tag tag, Address media, Tick now);
  void write(Tag tag, Address media, Tick now);
  [[nodiscard]] std::size_t writes_waiting() const { return writes_.size(); }

  /// What serves the media may draw from it too.
  PowerBudget& budget() { return budget_; }

  /// Keeps the whole media still until `until`.
  void stall(Tick until) {
    data_path_free_ = max(data_path_free_, until);
    reschedule(until);  // what was to start earlier does not
  }

  /// When the next access can start; Tick::never() when none waits.
  [[nodiscard]] Tick next_event() const { return next_.start; }

  /// Starts every access that can start at `now`, in order.
  void advance(Tick now, std::vector<Started>& started);

  /// Whole blocks that accesses have started for.
  [[nodiscard]] std::uint64_t blocks() const { return (read_bytes_ + write_bytes_) / block_; }

  void register_counters(Counters& counters, const std::string& prefix) const;

  void state(Archive& archive) {
    archive(budget_, data_path_free_, writes_left_, reads_guaranteed_, reads_left_, next_,
            partition_free_, reads_, writes_, read_bytes_, write_bytes_);
  }

 private:
  struct Access {
    Tag tag;
    std::uint32_t partition;
  };

  [[nodiscard]] Access access(Tag tag, Address media) const;
  [[nodiscard]] Tick ready(const Access& access) const;
  [[nodiscard]] bool write_turn() const;
  void take_turn(bool write);
  /// The access whose turn it is, the oldest of those that can start first: its place in its
  /// queue and when it can start; never when there is none.
  struct Choice {
    bool write = false;
    std::size_t place = 0;
    Tick start = Tick::never();

    void state(Archive& archive) { archive(write, place, start); }
  };
  [[nodiscard]] Choice earliest(bool write, Tick now) const;
  Started start(const Choice& choice);
  void reschedule(Tick now);

  MediaConfig config_;
  PowerBudget budget_;
  Bytes page_;
  Bytes block_;
  std::uint64_t accesses_per_block_;
  Tick read_power_{};   ///< time in which the budget pays for one block read
  Tick write_power_{};
  Tick data_path_free_{};
  std::uint32_t writes_left_ = 0;       ///< of the writes' turn; 0: the reads' turn
  std::uint32_t reads_guaranteed_ = 0;  ///< that pass before writes can go first
  std::uint32_t reads_left_ = 0;        ///< that may pass a waiting write
  Choice next_;
  std::vector<Tick> partition_free_;
  std::vector<Access> reads_;
  std::vector<Access> writes_;

  std::uint64_t read_bytes_ = 0;
  std::uint64_t write_bytes_ = 0;
};

}  // namespace nearfar::sim::nvdimm
