#include "sim/nvdimm/lazy_cache.h"

#include <algorithm>

namespace nearfar::sim::nvdimm {

LazyCache::LazyCache(const LazyConfig& config)
    : config_(config),
      entry_(config.entry),
      lines_per_entry_(config.entry / line_bytes),
      wlb_(config.lz2.entries, config.lz2.entries, Replacement::lru, 0),
      lz1_(config.lz1.entries, config.lz1.entries, Replacement::lru, 0),
      entries_(config.lz2.entries),
      data_(config.lz2.entries * lines_per_entry_) {}

Tick LazyCache::read(Address line, Tick now) {
  ++read_hits_;
  return access(wlb_.find(line.block(entry_)), line, now);
}

Tick LazyCache::write(Address line, DataHandle data, Tick now) {
  ++absorbed_;
  const Slot slot = wlb_.find(line.block(entry_));
  fill(line, data, true);
  entries_[slot].written = now;
  return access(slot, line, now);
}

/// One access, to LZ1 if the line is there, else to LZ2, from which LZ1 takes a copy.
Tick LazyCache::access(Slot slot, Address line, Tick now) {
  wlb_.touch(slot);
  ++accesses_;
  const Slot first = lz1_.find(line.block(line_bytes));
  if (first != none) {
    ++lz1_hits_;
    lz1_.touch(first);
    lz1_free_ = max(lz1_free_, now) + config_.lz1.latency;
    return lz1_free_;
  }
  ++accesses_;
  lz1_.insert(line.block(line_bytes));
  lz2_free_ = max(lz2_free_, now) + config_.lz2.latency;
  return lz2_free_;
}

std::optional<LazyCache::Gone> LazyCache::admit(Address line, Tick now) {
  ++admitted_;
  const Slot slot = wlb_.insert(line.block(entry_));
  std::optional<Gone> gone;
  if (entries_[slot].held) gone = take_out(slot, wlb_.evicted_block());
  entries_[slot].held = true;
  entries_[slot].dirty = 0;
  entries_[slot].written = now;
  accesses_ += lines_per_entry_;
  return gone;
}

void LazyCache::fill(Address line, DataHandle data, bool dirty) {
  const Slot slot = wlb_.find(line.block(entry_));
  data_[place(slot, line)] = data;
  if (dirty) entries_[slot].dirty |= std::uint64_t{1} << (line.value() % entry_ / line_bytes);
}

/// What was in `slot`, entry `number` of the DIMM. Its lines leave LZ1 too.
LazyCache::Gone LazyCache::take_out(Slot slot, std::uint64_t number) {
  ++evicted_;
  Entry& entry = entries_[slot];
  entry.held = false;
  const auto first = data_.begin() + static_cast<std::ptrdiff_t>(slot * lines_per_entry_);
  Gone gone{.at = Address(number * entry_),
            .dirty = entry.dirty,
            .data = {first, first + static_cast<std::ptrdiff_t>(lines_per_entry_)}};
  for (std::size_t line = 0; line < lines_per_entry_; ++line) {
    const Slot copy = lz1_.find(number * lines_per_entry_ + line);
    if (copy != none) lz1_.erase(copy);
    if ((gone.dirty >> line & 1) != 0) ++accesses_;
  }
  return gone;
}

Tick LazyCache::watch(Slot slot) {
  Entry& entry = entries_[slot];
  if (config_.age == Tick{} || entry.watched || !entry.held) return Tick::never();
  entry.watched = true;
  return entry.written + config_.age;
}

std::optional<LazyCache::Gone> LazyCache::look(Slot slot, Tick now) {
  Entry& entry = entries_[slot];
  entry.watched = false;
  if (!entry.held || entry.written + config_.age > now) return std::nullopt;
  Gone gone = take_out(slot, wlb_.block(slot));
  wlb_.erase(slot);
  return gone;
}

void LazyCache::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "read_hits", read_hits_);
  counters.add(prefix + "absorbed", absorbed_);
  counters.add(prefix + "lz1.hits", lz1_hits_);
  counters.add(prefix + "lz2.hits", [this] { return read_hits_ + absorbed_ - lz1_hits_; });
  counters.add(prefix + "admitted", admitted_);
  counters.add(prefix + "evicted", evicted_);
}

}  // namespace nearfar::sim::nvdimm
