#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "base/counters.h"
#include "sim/nvdimm/block_table.h"
#include "sim/nvdimm/config.h"

namespace nearfar::sim::nvdimm {

/// The address indirection table (AIT) and its buffer, as they lie in the on-DIMM DRAM.
///
/// The table holds one entry a page for the whole DIMM; the buffer holds the translations
/// of recently used pages and, if `fill` says so, the blocks of those pages that have been
/// read. This class knows what is where; the DIMM does the DRAM accesses.
class IndirectionBuffer {
 public:
  using Slot = BlockTable::Slot;
  using Waiter = std::uint32_t;
  static constexpr Slot none = BlockTable::none;

  IndirectionBuffer(const Config& config);

  /// The slot whose entry is, or will be, that of `page`; none when it is not here.
  [[nodiscard]] Slot find(std::uint64_t page) const { return directory_.find(page); }
  [[nodiscard]] std::uint64_t page(Slot slot) const { return directory_.block(slot); }
  void touch(Slot slot) { directory_.touch(slot); }

  /// Makes room for `page`, whose translation is on its way; none when nothing can leave.
  Slot insert(std::uint64_t page);

  [[nodiscard]] bool pending(Slot slot) const { return directory_.pinned(slot); }
  void wait(Slot slot, Waiter waiter) { waiters_[slot].push_back(waiter); }
  /// The translation has come: moves those who wait for it to `out`, in order.
  void arrived(Slot slot, std::vector<Waiter>& out);

  [[nodiscard]] bool holds_block(Slot slot, std::uint32_t block_in_page) const {
    return (blocks_[slot] >> block_in_page & 1) != 0;
  }
  void set_block(Slot slot, std::uint32_t block_in_page) {
    blocks_[slot] |= std::uint64_t{1} << block_in_page;
  }
  /// Whether nobody has asked for that block yet since the entry came; from now on somebody has.
  bool ask_for_block(Slot slot, std::uint32_t block_in_page) {
    const std::uint64_t bit = std::uint64_t{1} << block_in_page;
    const bool first = (asked_[slot] & bit) == 0;
    asked_[slot] |= bit;
    return first;
  }

  /// Where in the on-DIMM DRAM the table entry of a page lies, as a line.
  [[nodiscard]] Address table_line(std::uint64_t page) const {
    return Address(page * table_entry_).aligned_down(line_bytes);
  }
  /// Where in the on-DIMM DRAM a line of buffered data lies.
  [[nodiscard]] Address data_line(Slot slot, Bytes offset_in_page) const {
    return Address(data_base_ + slot * page_bytes_ + offset_in_page);
  }

  void register_counters(Counters& counters, const std::string& prefix) const;

  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t block_hits = 0;

 private:
  BlockTable directory_;
  std::vector<std::uint64_t> blocks_;  ///< one bit a block of the page that is here
  std::vector<std::uint64_t> asked_;   ///< those that a whole-page fill has asked for
  std::vector<std::vector<Waiter>> waiters_;
  Bytes table_entry_;
  Bytes page_bytes_;
  Bytes data_base_;
};

}  // namespace nearfar::sim::nvdimm
