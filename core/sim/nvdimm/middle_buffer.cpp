#include "sim/nvdimm/middle_buffer.h"

#include <algorithm>

namespace nearfar::sim::nvdimm {

MiddleBuffer::MiddleBuffer(const BufferConfig& config, Bytes block, Index waiters,
                           std::uint64_t seed)
    : directory_(config.entries, config.ways, config.policy, seed),
      entry_(config.entry),
      latency_(config.latency),
      sectors_per_entry_(static_cast<Index>(std::max<Bytes>(1, config.entry / block))),
      sectors_(std::size_t{config.entries} * sectors_per_entry_),
      next_waiting_(waiters, none) {}

MiddleBuffer::Slot MiddleBuffer::insert(Address at) {
  const Slot slot = directory_.insert(at.block(entry_));
  std::fill_n(sectors_.begin() + std::ptrdiff_t{slot} * sectors_per_entry_, sectors_per_entry_,
              Sector{});
  return slot;
}

void MiddleBuffer::wait(Index sector, Index waiter) {
  Sector& wanted = sectors_[sector];
  next_waiting_[waiter] = none;
  (wanted.first_waiting == none ? wanted.first_waiting : next_waiting_[wanted.last_waiting]) =
      waiter;
  wanted.last_waiting = waiter;
}

void MiddleBuffer::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "hits", hits);
  counters.add(prefix + "misses", misses);
}

}  // namespace nearfar::sim::nvdimm
