#include "sim/cpu/tlb.h"

namespace nearfar::sim::cpu {
namespace {

constexpr Bytes entry_bytes = 8;

/// A buffer of so many entries is a cache of so many page numbers.
CacheConfig buffer(std::uint32_t entries, std::uint32_t ways) {
  CacheConfig config;
  config.size = entries * line_bytes;
  config.ways = ways;
  config.policy = Policy::lru;
  return config;
}

/// Whether the page is there; afterwards it is.
bool access(Cache& buffer, std::uint64_t page) {
  const Cache::Slot slot = buffer.find(page);
  if (slot == Cache::none) {
    buffer.insert(page, false);
    return false;
  }
  buffer.use(slot);
  return true;
}

}  // namespace

Tlb::Tlb(const TlbConfig& config, std::uint64_t seed)
    : huge_(config.page > small_page),
      first_small_(buffer(config.entries, config.ways), seed),
      first_huge_(buffer(config.huge_entries, config.huge_ways), seed),
      second_(buffer(config.second_entries, config.second_ways), seed),
      directory_(buffer(config.directory_entries, config.directory_entries), seed) {}

Tlb::Found Tlb::look_up(Address address, bool huge) {
  const std::uint64_t page = page_of(address, huge);
  // The page used last is its set's most recent in both levels: nothing to look up or to change.
  if (page == last_ || use_first(page, huge)) return Found::first;
  const Cache::Slot slot = second_.find(page);
  if (slot == Cache::none) return Found::walk;
  second_.use(slot);
  (huge ? first_huge_ : first_small_).insert(page, false);
  last_ = page;
  return Found::second;
}

bool Tlb::holds(Address address, bool huge) const {
  const std::uint64_t page = page_of(address, huge);
  const Cache& first = huge ? first_huge_ : first_small_;
  return first.find(page) != Cache::none || second_.find(page) != Cache::none;
}

void Tlb::fill(Address address, bool huge) {
  const std::uint64_t page = page_of(address, huge);
  access(huge ? first_huge_ : first_small_, page);
  access(second_, page);
  last_ = page;
}

void Tlb::forget(Address address, bool huge) {
  const std::uint64_t page = page_of(address, huge);
  for (Cache* const level : {huge ? &first_huge_ : &first_small_, &second_}) {
    if (const Cache::Slot slot = level->find(page); slot != Cache::none) level->remove(slot);
  }
  if (last_ == page) last_ = no_page;
}

void Tlb::forget_lower_half() {
  const auto below = [](unsigned bits) {
    return [bits](std::uint64_t page) { return ((page & ~other_size) >> (63 - bits)) == 0; };
  };
  first_small_.remove_if(below(small_bits));
  first_huge_.remove_if(below(huge_bits));
  // Of a larger page the number has fewer bits.
  second_.remove_if([&](std::uint64_t page) {
    const bool is_huge = huge_ != ((page & other_size) != 0);
    return below(is_huge ? huge_bits : small_bits)(page);
  });
  directory_.remove_if([](std::uint64_t) { return true; });
  last_ = no_page;
}

bool Tlb::use_first(std::uint64_t page, bool huge) {
  Cache& first = huge ? first_huge_ : first_small_;
  const Cache::Slot slot = first.find(page);
  if (slot == Cache::none) return false;
  first.use(slot);
  last_ = page;
  return true;
}

bool Tlb::reads_directory(Address address, bool huge) {
  return !huge && !access(directory_, address.block(huge_page));
}

Line Tlb::entry_line(Address address, bool huge) {
  return huge ? directory_line(address)
              : tables + address.block(small_page) * entry_bytes / line_bytes;
}

Line Tlb::directory_line(Address address) {
  return directories + address.block(huge_page) * entry_bytes / line_bytes;
}

}  // namespace nearfar::sim::cpu
