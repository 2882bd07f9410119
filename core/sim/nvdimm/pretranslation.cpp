#include "sim/nvdimm/pretranslation.h"

#include <algorithm>
#include <bit>

namespace nearfar::sim::nvdimm {
namespace {

constexpr auto entries_in_line =
    static_cast<std::uint32_t>(line_bytes / PretranslationConfig::entry);

Address behind_all(const Config& config) {
  return Address((config.dram_used() + line_bytes - 1) / line_bytes * line_bytes);
}

/// A part has an entry at least (config_from()).
std::uint32_t parts_of(const PretranslationConfig& config) {
  return static_cast<std::uint32_t>(config.table / std::max(config.part(), config.entry));
}

}  // namespace

PointerTable::PointerTable(const PretranslationConfig& config, Bytes page, Address base,
                           std::uint64_t seed)
    : page_(page),
      frame_shift_(static_cast<unsigned>(std::bit_width(page))),
      tag_mask_((Entry{1} << frame_shift_) - 1),
      slots_(config.slots),
      line_slots_(std::min(config.slots, entries_in_line)),
      base_(base),
      parts_(parts_of(config), parts_of(config), config.policy, seed),
      entries_(std::size_t{parts_.entries()} * slots_),
      oldest_(entries_.size() / line_slots_) {}

std::size_t PointerTable::first_of(Slot part, Address pointer) const {
  const std::uint64_t lines = std::max(slots_ / line_slots_, 1u);
  const std::uint64_t line = pointer.value() % page_ / PretranslationConfig::entry % lines;
  return std::size_t{part} * slots_ + line * line_slots_;
}

Address PointerTable::line_of(Slot part, Address pointer) const {
  return (base_ + first_of(part, pointer) * PretranslationConfig::entry).aligned_down(line_bytes);
}

std::optional<std::uint64_t> PointerTable::find(Address pointer) {
  const Slot part = part_of(pointer);
  if (part == none) return std::nullopt;
  parts_.touch(part);
  const std::size_t first = first_of(part, pointer);
  for (std::size_t i = first; i < first + line_slots_; ++i) {
    if ((entries_[i] & tag_mask_) == tag_of(pointer)) return entries_[i] >> frame_shift_;
  }
  return std::nullopt;
}

PointerTable::Change PointerTable::put(Address pointer, std::uint64_t frame) {
  Change change;
  change.part = part_of(pointer);
  if (change.part == none) {
    change.part = parts_.insert(pointer.block(page_));
    change.new_part = true;
    if (parts_.evicted()) change.lost_page = parts_.evicted_block();
    std::fill_n(entries_.begin() + static_cast<std::ptrdiff_t>(std::size_t{change.part} * slots_),
                slots_, 0);
  } else {
    parts_.touch(change.part);
  }
  const std::size_t first = first_of(change.part, pointer);
  const Entry entry = frame << frame_shift_ | tag_of(pointer);
  std::size_t at = first + line_slots_;
  for (std::size_t i = first; i < first + line_slots_; ++i) {
    if ((entries_[i] & tag_mask_) == tag_of(pointer)) at = i;
  }
  if (at == first + line_slots_) {
    std::uint8_t& oldest = oldest_[first / line_slots_];
    at = first + oldest;
    oldest = static_cast<std::uint8_t>((oldest + 1u) % line_slots_);
  }
  entries_[at] = entry;
  return change;
}

std::optional<std::uint64_t> PointerBuffer::find(Address pointer) {
  const BlockTable::Slot slot = directory_.find(pointer.value());
  if (slot == BlockTable::none) return std::nullopt;
  directory_.touch(slot);
  return frames_[slot];
}

std::optional<PointerBuffer::Leaving> PointerBuffer::put(Address pointer, std::uint64_t frame,
                                                         bool changed) {
  BlockTable::Slot slot = directory_.find(pointer.value());
  std::optional<Leaving> leaving;
  if (slot == BlockTable::none) {
    slot = directory_.insert(pointer.value());
    if (directory_.evicted() && changed_[slot]) {
      leaving = Leaving{Address(directory_.evicted_block()), frames_[slot]};
    }
    changed_[slot] = changed;
  } else {
    directory_.touch(slot);
    changed_[slot] = changed_[slot] || changed;
  }
  frames_[slot] = frame;
  return leaving;
}

Pretranslation::Pretranslation(const Config& config, std::uint64_t seed)
    : rlb_latency(config.pretranslation->rlb_latency),
      buffer(*config.pretranslation, seed),
      table(*config.pretranslation, config.page(), behind_all(config), seed + 1) {}

void Pretranslation::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "reads", reads);
  counters.add(prefix + "rlb.hits", buffer_hits);
  counters.add(prefix + "table.reads", table_reads);
  counters.add(prefix + "table.hits", table_hits);
  counters.add(prefix + "table.writes", table_writes);
  counters.add(prefix + "part.reads", part_reads);
  counters.add(prefix + "parts.taken", parts_taken);
  counters.add(prefix + "parts.lost", parts_lost);
  counters.add(prefix + "updates", updates);
}

}  // namespace nearfar::sim::nvdimm
