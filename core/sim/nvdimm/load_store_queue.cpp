#include "sim/nvdimm/load_store_queue.h"

#include <bit>
#include <utility>

namespace nearfar::sim::nvdimm {

LoadStoreQueue::LoadStoreQueue(const LsqConfig& config, Bytes block)
    : config_(config),
      lines_per_block_(static_cast<std::uint32_t>(block / line_bytes)),
      groups_(config.lines),
      // Room for one more block than there can be groups: erased blocks leave lazily.
      directory_(2 * config.lines, 2 * config.lines, Replacement::fifo, 0),
      youngest_(2 * config.lines, none) {
  full_ = lines_per_block_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lines_per_block_) - 1;
  for (Index i = config.lines; i-- > 0;) {
    groups_[i].group.data.resize(lines_per_block_);
    free_.push_back(i);
  }
}

void LoadStoreQueue::write(std::uint64_t block, std::uint32_t line, DataHandle data,
                           const MediaNotice* notice, Tick now) {
  ++lines_written_;
  ++lines_held_;
  const std::uint64_t bit = std::uint64_t{1} << line;
  auto slot = directory_.find(block);
  Index at = slot == BlockTable::none ? none : youngest_[slot];
  if (at != none && (groups_[at].group.lines & bit) == 0) {
    ++lines_combined_;
  } else {
    const Index older = at;
    at = free_.back();
    free_.pop_back();
    ++groups_held_;
    Node& node = groups_[at];
    node.group.block = block;
    node.group.lines = 0;
    node.group.since = now;
    node.older_of_block = older;
    node.next = none;
    if (newest_ == none) {
      oldest_ = at;
    } else {
      groups_[newest_].next = at;
    }
    newest_ = at;
    if (slot == BlockTable::none) {
      slot = directory_.insert(block);
    } else if (older != none) {
      directory_.unpin(slot);
    }
    directory_.pin(slot);
    youngest_[slot] = at;
  }
  WriteGroup& group = groups_[at].group;
  group.lines |= bit;
  group.data[line] = data;
  if (notice != nullptr) group.notices.push_back(*notice);
}

bool LoadStoreQueue::forwards(std::uint64_t block, std::uint32_t line, DataHandle& data) const {
  const std::uint64_t bit = std::uint64_t{1} << line;
  for (Index at = youngest_of(block); at != none; at = groups_[at].older_of_block) {
    if ((groups_[at].group.lines & bit) != 0) {
      data = groups_[at].group.data[line];
      return true;
    }
  }
  return false;
}

bool LoadStoreQueue::must_drain(Tick now) const {
  if (oldest_ == none) return false;
  return lines_held_ > config_.high || draining_ > 0 || next_aged() <= now ||
         groups_[oldest_].group.lines == full_;
}

void LoadStoreQueue::take_oldest(WriteGroup& group) {
  const Index at = oldest_;
  Node& node = groups_[at];
  oldest_ = node.next;
  if (oldest_ == none) newest_ = none;
  std::swap(group, node.group);
  node.group.data.resize(lines_per_block_);
  node.group.notices.clear();

  // Groups of a block leave in order, so this one is the last of its chain.
  const auto slot = directory_.find(group.block);
  if (youngest_[slot] == at) {
    youngest_[slot] = none;
    directory_.unpin(slot);
  } else {
    Index younger = youngest_[slot];
    while (groups_[younger].older_of_block != at) younger = groups_[younger].older_of_block;
    groups_[younger].older_of_block = none;
  }
  free_.push_back(at);
  --groups_held_;
  if (draining_ > 0) --draining_;
  lines_held_ -= static_cast<std::uint32_t>(std::popcount(group.lines));
  ++groups_out_;
  if (group.lines == full_) ++full_groups_out_;
}

void LoadStoreQueue::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "lines_written", lines_written_);
  counters.add(prefix + "lines_combined", lines_combined_);
  counters.add(prefix + "blocks_out", groups_out_);
  counters.add(prefix + "full_blocks_out", full_groups_out_);
}

}  // namespace nearfar::sim::nvdimm
