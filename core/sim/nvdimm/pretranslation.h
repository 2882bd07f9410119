#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/archive.h"
#include "base/counters.h"
#include "base/slab.h"
#include "sim/nvdimm/block_table.h"
#include "sim/nvdimm/config.h"

namespace nearfar::sim::nvdimm {

/// Where pointers lead: for a pointer's address on the DIMM, the number of the frame that it
/// pointed into when the processor last told. A hint that may be out of date, and never trusted.
///
/// It lies in the on-DIMM DRAM (Wang et al., MICRO 2020, section V-B). The entry of a page in the
/// address indirection table has a pointer to the page's part of it, so behind that entry the
/// look-up takes one more access. The paper leaves open how the table is divided: here a page gets
/// a part when its first pointer is written, and loses it when another page needs one. A part has a
/// line or more of entries; a pointer's offset in the page says which line its entry is in, so that
/// one access is enough, and the oldest of the line makes room.
class PointerTable {
 public:
  using Slot = BlockTable::Slot;
  static constexpr Slot none = BlockTable::none;

  PointerTable(const PretranslationConfig& config, Bytes page, Address base, std::uint64_t seed);

  /// The part of a page, if it has one.
  [[nodiscard]] Slot part_of(Address pointer) const { return parts_.find(pointer.block(page_)); }
  /// The line of the on-DIMM DRAM in which that part has the entry of the pointer.
  [[nodiscard]] Address line_of(Slot part, Address pointer) const;

  [[nodiscard]] std::optional<std::uint64_t> find(Address pointer);

  /// What writing an entry came to.
  struct Change {
    Slot part = none;
    bool new_part = false;
    std::optional<std::uint64_t> lost_page;  ///< that had the part
  };
  Change put(Address pointer, std::uint64_t frame);

  void state(Archive& archive) { archive(parts_, entries_, oldest_); }

 private:
  /// An entry as it is stored: the frame's number above the pointer's offset in its page; 0 is
  /// empty, for offsets are kept plus one.
  using Entry = std::uint64_t;

  [[nodiscard]] Entry tag_of(Address pointer) const { return pointer.value() % page_ + 1; }
  [[nodiscard]] std::size_t first_of(Slot part, Address pointer) const;

  Bytes page_;
  unsigned frame_shift_;
  Entry tag_mask_;
  std::uint32_t slots_;
  std::uint32_t line_slots_;  ///< entries of a part in a line
  Address base_;
  BlockTable parts_;
  std::vector<Entry> entries_;
  std::vector<std::uint8_t> oldest_;  ///< by line of a part: the entry that makes room next
};

/// The look-aside buffer before that table (RLB), in SRAM. What the processor tells goes there, and
/// to the table when it has to leave.
class PointerBuffer {
 public:
  explicit PointerBuffer(const PretranslationConfig& config, std::uint64_t seed)
      : directory_(config.rlb_entries, config.rlb_entries, Replacement::lru, seed),
        frames_(config.rlb_entries),
        changed_(config.rlb_entries) {}

  [[nodiscard]] std::optional<std::uint64_t> find(Address pointer);

  /// What had to leave, and is not in the table as it was here.
  struct Leaving {
    Address pointer;
    std::uint64_t frame = 0;
  };
  /// `changed`: the table does not have it so.
  std::optional<Leaving> put(Address pointer, std::uint64_t frame, bool changed);

  void state(Archive& archive) { archive(directory_, frames_, changed_); }

 private:
  BlockTable directory_;
  std::vector<std::uint64_t> frames_;
  std::vector<bool> changed_;
};

/// The DIMM's part of Pre-translation: both of these, the look-ups under way, and what they count.
/// The DIMM does the timing and the accesses to its DRAM.
struct Pretranslation {
  /// A look-up for a read, and where it has got.
  struct LookUp {
    Address pointer;
    std::uint32_t read = 0;

    void state(Archive& archive) { archive(pointer, read); }
  };

  Pretranslation(const Config& config, std::uint64_t seed);

  void register_counters(Counters& counters, const std::string& prefix) const;

  void state(Archive& archive) {
    archive(buffer, table, look_ups, waiting, told);
    archive(reads, buffer_hits, table_reads, table_hits, part_reads, updates, table_writes,
            parts_taken, parts_lost);
  }

  Tick rlb_latency;
  PointerBuffer buffer;
  PointerTable table;
  Slab<LookUp> look_ups;
  std::vector<std::uint32_t> waiting;  ///< look-ups whose page's translation is on its way
  Slab<PointerBuffer::Leaving> told;  ///< on their way from the bus

  /// Of the RLB: every marked read looks there, and what the processor tells and the table has is
  /// written there.
  [[nodiscard]] std::uint64_t buffer_accesses() const { return reads + updates + table_hits; }

  std::uint64_t reads = 0;  ///< marked ones
  std::uint64_t buffer_hits = 0;
  std::uint64_t table_reads = 0;  ///< of the table's lines
  std::uint64_t table_hits = 0;
  std::uint64_t part_reads = 0;  ///< of the indirection table, only to find a page's part
  std::uint64_t updates = 0;  ///< told by the processor
  std::uint64_t table_writes = 0;
  std::uint64_t parts_taken = 0;  ///< pages that got a part
  std::uint64_t parts_lost = 0;  ///< pages whose part another got
};

}  // namespace nearfar::sim::nvdimm
