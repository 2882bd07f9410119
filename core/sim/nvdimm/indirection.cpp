#include "sim/nvdimm/indirection.h"

#include <algorithm>

namespace nearfar::sim::nvdimm {

IndirectionBuffer::IndirectionBuffer(const Config& config)
    : directory_(config.ait->entries, config.ait->ways, config.ait->policy, config.seed + 2),
      waiters_(config.ait->entries),
      page_bytes_(config.page()),
      blocks_per_page_(static_cast<std::uint32_t>(config.page() / config.media.access)),
      words_(config.fill == Fill::none ? 0 : (blocks_per_page_ + 63) / 64),
      blocks_(config.ait->entries * words_),
      asked_(config.ait->entries * words_) {
  const Bytes table = config.media.capacity / page_bytes_ * config.table_entry;
  data_base_ = (table + page_bytes_ - 1) / page_bytes_ * page_bytes_;
}

IndirectionBuffer::Slot IndirectionBuffer::insert(std::uint64_t page) {
  const Slot slot = directory_.insert(page);
  if (slot == none) return none;
  if (words_ != 0) {
    std::fill_n(&blocks_[word(slot, 0)], words_, 0);
    std::fill_n(&asked_[word(slot, 0)], words_, 0);
  }
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
