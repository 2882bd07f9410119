#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "base/archive.h"
#include "base/counters.h"
#include "base/tick.h"
#include "sim/nvdimm/block_table.h"
#include "sim/nvdimm/config.h"
#include "sim/request.h"

namespace nearfar::sim::nvdimm {

/// A write whose caller wants to know when it has reached the media.
struct MediaNotice {
  std::uint64_t id = 0;
  Address address;
};

/// The lines of one block on their way to the media, combined.
struct WriteGroup {
  std::uint64_t block = 0;
  std::uint64_t lines = 0;  ///< one bit a line present
  Tick since{};             ///< arrival of the first line
  std::vector<DataHandle> data;
  std::vector<MediaNotice> notices;

  void state(Archive& archive) { archive(block, lines, since, data, notices); }
};

/// The DIMM's load-store queue: gathers 64 B writes into writes of whole blocks.
///
/// A line joins the youngest group of its block unless that line is already there: two
/// stores to one line stay two writes, in order (a repeated 256 B overwrite wears the media
/// by what was written). Groups leave oldest first: when more than `high` lines are held,
/// when a group reaches the age `hold`, when they were here at a draining fence, and complete
/// ones as soon as it is their turn.
class LoadStoreQueue {
 public:
  LoadStoreQueue(const LsqConfig& config, Bytes block);

  [[nodiscard]] bool has_room() const { return lines_held_ < config_.lines; }

  /// Precondition: has_room(). `line` is the line's number within the block.
  void write(std::uint64_t block, std::uint32_t line, DataHandle data, const MediaNotice* notice,
             Tick now);

  /// The newest data of a line, if a write to it is waiting here.
  [[nodiscard]] bool forwards(std::uint64_t block, std::uint32_t line, DataHandle& data) const;

  /// Everything held now leaves as soon as it can.
  void drain_all() { draining_ = groups_held_; }

  /// Whether the oldest group has to leave at `now`.
  [[nodiscard]] bool must_drain(Tick now) const;
  /// When the oldest group comes of age; Tick::never() when there is none.
  [[nodiscard]] Tick next_aged() const {
    return oldest_ == none ? Tick::never() : groups_[oldest_].group.since + config_.hold;
  }
  /// Takes the oldest group out into `group`. Precondition: not empty.
  void take_oldest(WriteGroup& group);

  [[nodiscard]] bool empty() const { return oldest_ == none; }
  void register_counters(Counters& counters, const std::string& prefix) const;

  void state(Archive& archive) {
    archive(lines_held_, groups_held_, draining_, groups_, free_, oldest_, newest_, directory_,
            youngest_, lines_written_, lines_combined_, groups_out_, full_groups_out_);
  }

 private:
  using Index = std::uint32_t;
  static constexpr Index none = ~Index{0};

  struct Node {
    WriteGroup group;
    Index next = none;   ///< towards younger groups
    Index older_of_block = none;

    void state(Archive& archive) { archive(group, next, older_of_block); }
  };

  [[nodiscard]] Index youngest_of(std::uint64_t block) const {
    const auto slot = directory_.find(block);
    return slot == BlockTable::none ? none : youngest_[slot];
  }

  LsqConfig config_;
  std::uint64_t full_;
  std::uint32_t lines_per_block_;
  std::uint32_t lines_held_ = 0;
  std::uint32_t groups_held_ = 0;
  std::uint32_t draining_ = 0;  ///< oldest groups that leave whatever the fill
  std::vector<Node> groups_;  ///< at most one a line
  std::vector<Index> free_;
  Index oldest_ = none;
  Index newest_ = none;
  BlockTable directory_;  ///< blocks with a group; slot -> youngest_
  std::vector<Index> youngest_;

  std::uint64_t lines_written_ = 0;
  std::uint64_t lines_combined_ = 0;
  std::uint64_t groups_out_ = 0;
  std::uint64_t full_groups_out_ = 0;
};

}  // namespace nearfar::sim::nvdimm
