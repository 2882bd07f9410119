#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sim/nvdimm/config.h"
#include "sim/request.h"

namespace nearfar::sim::nvdimm {

/// How a DIMM's addresses fall into what moves within it; all sizes are powers of two.
///
/// A line is 64 B, a block is what a media access moves, an entry of the RMW buffer is some
/// blocks or part of one, a sector is what one media access brings of an entry, and a page
/// is what one translation is for. Sectors are numbered through all slots of the RMW buffer.
class Geometry {
 public:
  using Index = std::uint32_t;

  explicit Geometry(const Config& config)
      : page_(config.page()),
        entry_shift_(log2_of(config.rmw.entry)),
        block_shift_(log2_of(config.media.access)),
        sector_shift_(std::min(entry_shift_, block_shift_)),
        sectors_per_entry_(Index{1} << (entry_shift_ - sector_shift_)),
        sectors_per_block_(Index{1} << (block_shift_ - sector_shift_)),
        lines_per_block_(static_cast<std::uint32_t>(config.media.access / line_bytes)),
        lines_per_sector_(lines_per_block_ / sectors_per_block_),
        all_lines_(first_bits(lines_per_sector_)) {}

  [[nodiscard]] static constexpr std::uint64_t first_bits(std::uint32_t count) {
    return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  [[nodiscard]] Bytes page() const { return page_; }
  [[nodiscard]] Bytes block() const { return Bytes{1} << block_shift_; }
  [[nodiscard]] Bytes sector() const { return Bytes{1} << sector_shift_; }
  [[nodiscard]] Index sectors_per_entry() const { return sectors_per_entry_; }
  [[nodiscard]] Index sectors_per_block() const { return sectors_per_block_; }
  [[nodiscard]] std::uint32_t lines_per_block() const { return lines_per_block_; }
  [[nodiscard]] std::uint32_t lines_per_sector() const { return lines_per_sector_; }
  /// A bit for each line of a sector, and of a block.
  [[nodiscard]] std::uint64_t all_lines() const { return all_lines_; }
  [[nodiscard]] std::uint64_t all_block_lines() const { return first_bits(lines_per_block_); }

  [[nodiscard]] std::uint64_t page_of(Address at) const { return at.block(page_); }
  [[nodiscard]] std::uint64_t entry_of(Address at) const { return at.value() >> entry_shift_; }
  [[nodiscard]] std::uint64_t block_of(Address at) const { return at.value() >> block_shift_; }
  [[nodiscard]] Address block_address(std::uint64_t block) const {
    return Address(block << block_shift_);
  }
  [[nodiscard]] std::uint32_t block_in_page(Address at) const {
    return static_cast<std::uint32_t>(at.value() % page_ >> block_shift_);
  }
  [[nodiscard]] std::uint32_t line_in_block(Address at) const {
    return static_cast<std::uint32_t>(at.value() / line_bytes) & (lines_per_block_ - 1);
  }
  [[nodiscard]] std::uint32_t line_in_sector(Address at) const {
    return static_cast<std::uint32_t>(at.value() / line_bytes) & (lines_per_sector_ - 1);
  }
  [[nodiscard]] Index sector_of(Index slot, Address at) const {
    return slot * sectors_per_entry_ +
           (static_cast<Index>(at.value() >> sector_shift_) & (sectors_per_entry_ - 1));
  }
  [[nodiscard]] Index slot_of(Index sector) const {
    return sector >> (entry_shift_ - sector_shift_);
  }
  /// Of a sector in the slot that holds `entry`.
  [[nodiscard]] Address sector_address(std::uint64_t entry, Index sector) const {
    const std::uint64_t first = entry << (entry_shift_ - sector_shift_);
    return Address((first + sector % sectors_per_entry_) << sector_shift_);
  }

 private:
  static std::uint32_t log2_of(Bytes power_of_two) {
    return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
  }

  Bytes page_;
  std::uint32_t entry_shift_;
  std::uint32_t block_shift_;
  std::uint32_t sector_shift_;
  Index sectors_per_entry_;
  Index sectors_per_block_;
  std::uint32_t lines_per_block_;
  std::uint32_t lines_per_sector_;
  std::uint64_t all_lines_;
};

}  // namespace nearfar::sim::nvdimm
