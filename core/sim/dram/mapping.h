#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "sim/dram/config.h"

namespace nearfar::sim::dram {

/// A line's place in the channel.
struct Location {
  std::uint32_t row = 0;
  std::uint32_t column = 0;      ///< in units of the bus width, a burst's first
  std::uint8_t rank = 0;
  std::uint8_t bank_group = 0;
  std::uint8_t bank = 0;         ///< within its bank group
  std::uint8_t group_index = 0;  ///< bank group, counted over the channel
  std::uint8_t bank_index = 0;   ///< bank, counted over the channel

  friend bool operator==(const Location&, const Location&) = default;
};

/// A bijection between the channel's lines and places, given by the order of the address's
/// fields from most to least significant: `row`, `rank`, `bank_group`, `bank` and `column`
/// each once, joined by '-'. `column` may be split into `column_high` and `column_low`, where
/// `column_low` counts the four lines of 256 bytes. The offset in the line lies below.
class AddressMapping {
 public:
  /// Throws InputError, naming `key`, when a field is unknown, missing or repeated.
  AddressMapping(const Config& config, const std::string& key);

  /// `address` < capacity().
  [[nodiscard]] Location locate(Address address) const {
    return powers_of_two_ ? locate_by_bits(address.value() / line_bytes)
                          : locate_by_division(address.value() / line_bytes);
  }
  /// The first byte of the line at `location`; its indices are not read.
  [[nodiscard]] Address address(const Location& location) const;
  [[nodiscard]] Bytes capacity() const { return capacity_; }

 private:
  enum Name : std::uint8_t { row, rank, bank_group, bank, column_high, column_low, name_count };

  struct Field {
    std::uint64_t size = 1;    ///< how many values it takes
    std::uint64_t weight = 1;  ///< lines from one value to the next
    std::uint32_t shift = 0;   ///< log2(weight)
    std::uint64_t mask = 0;    ///< size - 1
  };

  [[nodiscard]] Location locate_by_bits(std::uint64_t line) const {
    const auto value = [&](Name name) {
      return static_cast<std::uint32_t>((line >> fields_[name].shift) & fields_[name].mask);
    };
    return place(value(row), value(rank), value(bank_group), value(bank),
                 value(column_high) * low_lines_ + value(column_low));
  }
  [[nodiscard]] Location locate_by_division(std::uint64_t line) const;

  [[nodiscard]] Location place(std::uint32_t row_value, std::uint32_t rank_value,
                               std::uint32_t group_value, std::uint32_t bank_value,
                               std::uint32_t burst_value) const {
    const std::uint32_t group_index = rank_value * groups_ + group_value;
    return {row_value,
            burst_value * burst_length_,
            static_cast<std::uint8_t>(rank_value),
            static_cast<std::uint8_t>(group_value),
            static_cast<std::uint8_t>(bank_value),
            static_cast<std::uint8_t>(group_index),
            static_cast<std::uint8_t>(group_index * banks_ + bank_value)};
  }

  Field fields_[name_count];
  bool powers_of_two_ = true;
  std::uint32_t low_lines_ = 1;
  std::uint32_t groups_;
  std::uint32_t banks_;
  std::uint32_t burst_length_;
  Bytes capacity_;
};

}  // namespace nearfar::sim::dram
