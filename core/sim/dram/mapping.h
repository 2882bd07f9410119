#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "sim/dram/config.h"

namespace nearfar::sim::dram {

/// The row that a line lies in. Where in the row it lies, its column, no rule depends on.
struct Location {
  std::uint32_t row = 0;
  std::uint16_t bank = 0;  ///< counted over the channel: rank, then bank group, then bank
  std::uint16_t rank = 0;

  friend bool operator==(const Location&, const Location&) = default;
};

/// A bijection between the channel's lines and places, given by the order of the address's
/// fields from most to least significant: `row`, `rank`, `bank_group`, `bank` and `column`
/// each once, joined by '-'. `column` may be split into `column_high` and `column_low`, where
/// `column_low` counts the four lines of 256 bytes. The offset in the line lies below.
///
/// With Config::hash the bank group and bank that the fields give are XORed with the row, folded
/// to as many bits: rows that differ in one bit anywhere lie in different banks (permutation-based
/// page interleaving, Zhang, Zhu and Zhang, MICRO 2000, with all of the row's bits for the tag's).
class AddressMapping {
 public:
  /// Throws InputError, naming `key`, when a field is unknown, missing or repeated.
  AddressMapping(const Config& config, const std::string& key);

  /// `address` < capacity().
  [[nodiscard]] Location locate(Address address) const {
    return address < plain_below_ ? locate_plain(address) : locate_by_division(address);
  }
  /// Below this a line's place can be told from the bits of its address: nowhere if there are
  /// three ranks, else everywhere.
  [[nodiscard]] Address plain_below() const { return plain_below_; }
  /// `address` < plain_below().
  [[nodiscard, gnu::always_inline]] Location locate_plain(Address address) const {
    const std::uint64_t line = address.value() / line_bytes;
    const std::uint64_t bank = rank_in_.of(line) | group_in_.of(line) | bank_in_.of(line);
    const auto row = static_cast<std::uint32_t>(row_in_.of(line));
    if (hash_mask_ != 0) [[unlikely]] {
      return {row, static_cast<std::uint16_t>(bank ^ folded(row)),
              static_cast<std::uint16_t>(bank >> rank_position_)};
    }
    return {row, static_cast<std::uint16_t>(bank),
            static_cast<std::uint16_t>(bank >> rank_position_)};
  }
  /// The line's column, in units of the bus width, a burst's first.
  [[nodiscard]] std::uint32_t column_of(Address address) const;
  /// The first byte of the line at that row and column.
  [[nodiscard]] Address address(const Location& location, std::uint32_t column) const;
  [[nodiscard]] Bytes capacity() const { return capacity_; }

 private:
  enum Name : std::uint8_t { row, rank, bank_group, bank, column_high, column_low, name_count };

  struct Field {
    std::uint64_t size = 1;    ///< how many values it takes
    std::uint64_t weight = 1;  ///< lines from one value to the next
    std::uint32_t shift = 0;   ///< log2(weight)
    std::uint64_t mask = 0;    ///< size - 1
  };

  /// A field's bits in a line's number, brought to where they lie in a Location.
  struct Bits {
    std::uint32_t turn = 0;  ///< to the right, below 64
    std::uint64_t mask = 0;
    [[nodiscard]] std::uint64_t of(std::uint64_t line) const {
      return (line >> turn | line << (-turn & 63)) & mask;
    }
  };
  [[nodiscard]] Bits bits_to(Name name, std::uint32_t position) const {
    return {(fields_[name].shift - position) & 63, fields_[name].mask << position};
  }

  [[nodiscard]] Location place(std::uint32_t row_value, std::uint32_t rank_value,
                               std::uint32_t group_value, std::uint32_t bank_value) const {
    const std::uint32_t bank_index =
        (((rank_value << group_bits_) | group_value) << bank_bits_) | bank_value;
    return {row_value, static_cast<std::uint16_t>(bank_index ^ folded(row_value)),
            static_cast<std::uint16_t>(rank_value)};
  }
  /// The row's bits in groups of as many as tell a rank's banks apart, XORed; 0 without a hash.
  [[nodiscard]] std::uint32_t folded(std::uint64_t row) const {
    row ^= row >> 8 * rank_position_;
    row ^= row >> 4 * rank_position_;
    row ^= row >> 2 * rank_position_;
    row ^= row >> rank_position_;
    return static_cast<std::uint32_t>(row) & hash_mask_;
  }
  [[nodiscard]] Location locate_by_division(Address address) const;
  [[nodiscard]] std::uint32_t value_by_division(Name name, std::uint64_t line) const {
    return static_cast<std::uint32_t>(line / fields_[name].weight % fields_[name].size);
  }

  Field fields_[name_count];
  Bits row_in_, rank_in_, group_in_, bank_in_;  ///< the last three in Location::bank
  Address plain_below_;
  std::uint32_t low_lines_ = 1;
  std::uint32_t group_bits_;  ///< log2 of the bank groups in a rank
  std::uint32_t bank_bits_;   ///< log2 of the banks in a bank group
  std::uint32_t hash_mask_ = 0;  ///< the bits of a bank's number in its rank, if hashed
  std::uint32_t rank_position_;  ///< where the rank begins in a Location's bank
  std::uint32_t burst_length_;
  Bytes capacity_;
};

}  // namespace nearfar::sim::dram
