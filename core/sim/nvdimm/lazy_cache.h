#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/archive.h"
#include "base/counters.h"
#include "base/tick.h"
#include "sim/nvdimm/block_table.h"
#include "sim/nvdimm/lazy_config.h"
#include "sim/request.h"

namespace nearfar::sim::nvdimm {

/// What the Lazy cache holds: LZ1 of lines, LZ2 of larger entries, LZ1's lines among them.
///
/// The directory of LZ2 is the write look-aside buffer: a line that it names is held, whole, and
/// newer than anything behind. An entry comes whole when its line is admitted. From then on writes
/// to it stay here. It leaves when it has gone longest unused and another comes, or when it has
/// reached its age; what was written of it goes on to the media then.
///
/// Each level does one access at a time. A line of LZ2 alone is copied into LZ1 as it is used. The
/// data are kept once: which level has them matters for time and energy only.
class LazyCache {
 public:
  using Slot = BlockTable::Slot;
  static constexpr Slot none = BlockTable::none;

  explicit LazyCache(const LazyConfig& config);

  [[nodiscard]] bool holds(Address line) const { return wlb_.find(line.block(entry_)) != none; }
  /// Precondition: holds(line).
  [[nodiscard]] DataHandle data(Address line) const {
    return data_[place(wlb_.find(line.block(entry_)), line)];
  }

  /// Serves a read at `now`: when it is done. Precondition: holds(line).
  Tick read(Address line, Tick now);
  /// Takes a write at `now`: when it is done. Precondition: holds(line).
  Tick write(Address line, DataHandle data, Tick now);

  /// An entry that has left.
  struct Gone {
    Address at;
    std::uint64_t dirty = 0;  ///< one bit a line that the media do not have
    std::vector<DataHandle> data;
  };
  /// Gives the entry of `line`, which is not held, a slot, and takes out the entry that has to go,
  /// if one does. Its lines come by fill().
  [[nodiscard]] std::optional<Gone> admit(Address line, Tick now);
  /// Lays a line of a held entry down; `dirty` if the media do not have it.
  void fill(Address line, DataHandle data, bool dirty);

  /// When to look whether the entry in `slot` has come of age; never where there is no age, or no
  /// entry, or the time to look is set already.
  [[nodiscard]] Tick watch(Slot slot);
  /// The time to look has come: the entry, if it has taken no write for so long.
  [[nodiscard]] std::optional<Gone> look(Slot slot, Tick now);
  [[nodiscard]] Slot slot_of(Address line) const { return wlb_.find(line.block(entry_)); }

  [[nodiscard]] Bytes entry() const { return entry_; }
  /// Lines moved into or out of a level so far.
  [[nodiscard]] std::uint64_t accesses() const { return accesses_; }
  void register_counters(Counters& counters, const std::string& prefix) const;
  void state(Archive& archive) {
    archive(wlb_, lz1_, entries_, data_, lz1_free_, lz2_free_, accesses_, read_hits_, absorbed_,
            lz1_hits_, admitted_, evicted_);
  }

 private:
  struct Entry {
    std::uint64_t dirty = 0;
    Tick written{};
    bool held = false;
    bool watched = false;

    void state(Archive& archive) { archive(dirty, written, held, watched); }
  };

  [[nodiscard]] std::size_t place(Slot slot, Address line) const {
    return std::size_t{slot} * lines_per_entry_ + line.value() % entry_ / line_bytes;
  }
  Tick access(Slot slot, Address line, Tick now);
  Gone take_out(Slot slot, std::uint64_t number);

  LazyConfig config_;
  Bytes entry_;
  std::size_t lines_per_entry_;
  BlockTable wlb_;
  BlockTable lz1_;
  std::vector<Entry> entries_;
  std::vector<DataHandle> data_;
  Tick lz1_free_{};
  Tick lz2_free_{};

  std::uint64_t accesses_ = 0;
  std::uint64_t read_hits_ = 0;
  std::uint64_t absorbed_ = 0;
  std::uint64_t lz1_hits_ = 0;
  std::uint64_t admitted_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace nearfar::sim::nvdimm
