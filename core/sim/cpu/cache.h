#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "sim/cpu/config.h"
#include "sim/cpu/replacement.h"

namespace nearfar::sim::cpu {

/// The number of a 64-byte line.
using Line = std::uint64_t;

/// A set-associative cache of lines: which are here, which of them are dirty, and which one
/// leaves next. No data and no time.
class Cache {
 public:
  /// Where a line is.
  using Slot = std::uint32_t;
  static constexpr Slot none = ~Slot{0};

  /// A line that had to leave.
  struct Victim {
    Line line = 0;
    bool dirty = false;
  };

  Cache(const CacheConfig& config, std::uint64_t seed);

  /// The line's place, or none. Leaves no trace.
  [[nodiscard]] Slot find(Line line) const {
    const std::uint64_t tag = tag_of(line);
    const std::uint64_t first = set_of(line) * ways_;
    for (std::uint64_t slot = first; slot < first + ways_; ++slot) {
      if ((tags_[slot] ^ tag) <= dirty_bit) return static_cast<Slot>(slot);
    }
    return none;
  }

  [[nodiscard]] bool holds(Slot slot, Line line) const {
    return (tags_[slot] ^ tag_of(line)) <= dirty_bit;
  }

  /// The line there was used.
  void use(Slot slot) {
    if (way_bits_ < 32) {
      replacement_.hit(slot >> way_bits_, slot & (ways_ - 1));
    } else {
      replacement_.hit(slot / ways_, slot % ways_);
    }
  }

  /// Whether the line would throw none out.
  [[nodiscard]] bool has_room(Line line) const;
  /// Brings in a line that is not here; a full set loses one.
  std::optional<Victim> insert(Line line, bool dirty);

  void remove(Slot slot) {
    tags_[slot] = 0;
    ++free_;
  }
  /// Removes every line of which `gone(line)` is true.
  template <typename Gone>
  void remove_if(const Gone& gone) {
    for (std::size_t slot = 0; slot < tags_.size(); ++slot) {
      const std::uint64_t tag = tags_[slot];
      if (tag != 0 && gone((tag >> 1) - 1)) remove(static_cast<Slot>(slot));
    }
  }

  [[nodiscard]] bool dirty(Slot slot) const { return (tags_[slot] & dirty_bit) != 0; }
  void mark(Slot slot, bool dirty) {
    tags_[slot] = dirty ? tags_[slot] | dirty_bit : tags_[slot] & ~dirty_bit;
  }

  [[nodiscard]] std::uint64_t sets() const { return sets_of_slice_ * slices_; }
  [[nodiscard]] std::uint32_t ways() const { return ways_; }
  /// The set in which a line lies, slices one after another.
  [[nodiscard]] std::uint64_t set_of(Line line) const {
    const std::uint64_t index =
        set_mask_ != 0 ? line & set_mask_ : (sets_of_slice_ == 1 ? 0 : line % sets_of_slice_);
    return slices_ == 1 ? index : slice_of(line) * sets_of_slice_ + index;
  }
  /// Which part of the cache the line belongs to.
  [[nodiscard]] std::uint64_t slice_of(Line line) const;
  [[nodiscard]] std::uint64_t slices() const { return slices_; }
  /// Lines that are here, and those of them that are dirty; counted anew.
  [[nodiscard]] std::uint64_t lines() const;
  [[nodiscard]] std::uint64_t dirty_lines() const;

 private:
  static constexpr std::uint64_t dirty_bit = 1;

  /// Never 0, which is the tag of an empty place.
  [[nodiscard]] static std::uint64_t tag_of(Line line) { return (line + 1) << 1; }

  std::uint32_t ways_;
  std::uint32_t way_bits_;  ///< 32: the ways are no power of two
  std::uint64_t slices_;
  std::uint64_t sets_of_slice_;
  std::uint64_t set_mask_;  ///< 0: not a power of two
  std::vector<std::uint64_t> tags_;
  std::uint64_t free_;  ///< places in which there is no line
  Replacement replacement_;
};

}  // namespace nearfar::sim::cpu
