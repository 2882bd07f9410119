#include "sim/nvdimm/indirection.h"

namespace nearfar::sim::nvdimm {

IndirectionBuffer::IndirectionBuffer(const Config& config)
    : directory_(config.ait.entries, config.ait.ways, config.ait.policy, config.seed + 2),
      blocks_(config.ait.entries),
      asked_(config.ait.entries),
      waiters_(config.ait.entries),
      table_entry_(config.table_entry),
      page_bytes_(config.ait.entry) {
  const Bytes table = config.media.capacity / page_bytes_ * table_entry_;
  data_base_ = (table + page_bytes_ - 1) / page_bytes_ * page_bytes_;
}

IndirectionBuffer::Slot IndirectionBuffer::insert(std::uint64_t page) {
  const Slot slot = directory_.insert(page);
  if (slot == none) return none;
  blocks_[slot] = 0;
  asked_[slot] = 0;
  directory_.pin(slot);
  return slot;
}

void IndirectionBuffer::arrived(Slot slot, std::vector<Waiter>& out) {
  directory_.unpin(slot);
  out.insert(out.end(), waiters_[slot].begin(), waiters_[slot].end());
  waiters_[slot].clear();
}

void IndirectionBuffer::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "hits", hits);
  counters.add(prefix + "misses", misses);
  counters.add(prefix + "block_hits", block_hits);
}

}  // namespace nearfar::sim::nvdimm
