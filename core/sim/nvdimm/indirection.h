#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/archive.h"
#include "base/counters.h"
#include "sim/nvdimm/block_table.h"
#include "sim/nvdimm/config.h"

namespace nearfar::sim::nvdimm {

/// The address indirection table (AIT): one entry a page for the whole DIMM, from the beginning of
/// the on-DIMM DRAM.
struct IndirectionTable {
  Bytes entry = 0;

  /// The line in which the entry of a page lies.
  [[nodiscard]] Address line_of(std::uint64_t page) const {
    return Address(page * entry).aligned_down(line_bytes);
  }
};

/// The buffer before that table, the last level of a DIMM that has one: the translations of
/// recently used pages and, if `fill` says so, media blocks of those pages, which lie in the
/// on-DIMM DRAM. This class knows what is where; the DIMM does the DRAM accesses.
class IndirectionBuffer {
 public:
  using Slot = BlockTable::Slot;
  using Waiter = std::uint32_t;
  static constexpr Slot none = BlockTable::none;

  /// Precondition: the configuration has a translation buffer.
  explicit IndirectionBuffer(const Config& config);

  /// The slot whose entry is, or will be, that of `page`; none when it is not here.
  [[nodiscard]] Slot find(std::uint64_t page) const { return directory_.find(page); }
  [[nodiscard]] std::uint64_t page(Slot slot) const { return directory_.block(slot); }
  void touch(Slot slot) { directory_.touch(slot); }

  /// Makes room for `page`, whose translation is on its way; none when nothing can leave.
  Slot insert(std::uint64_t page);

  [[nodiscard]] bool pending(Slot slot) const { return directory_.pinned(slot); }
  void wait(Slot slot, Waiter waiter) { waiters_[slot].push_back(waiter); }
  /// The translation has come: moves what waits for it to `out`, in order.
  void arrived(Slot slot, std::vector<Waiter>& out);

  // Only where blocks are kept (`fill`):
  [[nodiscard]] std::uint32_t blocks_per_page() const { return blocks_per_page_; }
  [[nodiscard]] bool holds_block(Slot slot, std::uint32_t block_in_page) const {
    return (blocks_[word(slot, block_in_page)] & bit(block_in_page)) != 0;
  }
  void set_block(Slot slot, std::uint32_t block_in_page) {
    blocks_[word(slot, block_in_page)] |= bit(block_in_page);
  }
  /// Whether this is the first request for that block since the entry came. Records the request.
  bool ask_for_block(Slot slot, std::uint32_t block_in_page) {
    std::uint64_t& asked = asked_[word(slot, block_in_page)];
    const bool first = (asked & bit(block_in_page)) == 0;
    asked |= bit(block_in_page);
    return first;
  }
  /// Where in the on-DIMM DRAM a line of buffered data lies.
  [[nodiscard]] Address data_line(Slot slot, Bytes offset_in_page) const {
    return Address(data_base_ + slot * page_bytes_ + offset_in_page);
  }

  void register_counters(Counters& counters, const std::string& prefix) const;

  void state(Archive& archive) {
    archive(hits, misses, block_hits, directory_, waiters_, blocks_, asked_);
  }

  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t block_hits = 0;

 private:
  [[nodiscard]] std::size_t word(Slot slot, std::uint32_t block_in_page) const {
    return std::size_t{slot} * words_ + block_in_page / 64;
  }
  [[nodiscard]] static std::uint64_t bit(std::uint32_t block_in_page) {
    return std::uint64_t{1} << block_in_page % 64;
  }

  BlockTable directory_;
  std::vector<std::vector<Waiter>> waiters_;
  Bytes page_bytes_;
  std::uint32_t blocks_per_page_;
  std::size_t words_;  ///< of an entry in the next two; 0 where none are kept
  std::vector<std::uint64_t> blocks_;  ///< one bit a block of the page that is here
  std::vector<std::uint64_t> asked_;  ///< those that a whole-page fill has asked for
  Bytes data_base_;
};

}  // namespace nearfar::sim::nvdimm
