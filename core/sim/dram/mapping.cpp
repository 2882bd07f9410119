#include "sim/dram/mapping.h"

#include <bit>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace nearfar::sim::dram {
namespace {

/// Lines in the part of a row that `column_low` counts: 256 bytes.
constexpr std::uint32_t low_lines_of_a_split = 4;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dash = text.find('-');
    parts.push_back(text.substr(0, dash));
    if (dash == std::string_view::npos) return parts;
    text.remove_prefix(dash + 1);
  }
}

}  // namespace

AddressMapping::AddressMapping(const Config& config, const std::string& key)
    : group_bits_(static_cast<std::uint32_t>(std::countr_zero(config.bank_groups))),
      bank_bits_(static_cast<std::uint32_t>(std::countr_zero(config.banks))),
      rank_position_(group_bits_ + bank_bits_),
      burst_length_(config.burst_length),
      capacity_(config.capacity()) {
  static constexpr std::string_view names[] = {"row",  "rank",        "bank_group",
                                               "bank", "column_high", "column_low"};
  const auto fail = [&](const std::string& what) {
    throw InputError(key + ": '" + config.mapping + "' " + what +
                     "; it takes row, rank, bank_group, bank and column (or column_high and "
                     "column_low) once each, joined by '-'");
  };

  const std::vector<std::string_view> order = split(config.mapping);
  bool columns_split = false;
  for (const std::string_view name : order) columns_split |= name == names[column_low];
  low_lines_ = columns_split ? low_lines_of_a_split : 1;

  const std::uint32_t bursts = config.columns / config.burst_length;
  if (bursts % low_lines_ != 0) fail("splits rows that are shorter than 256 bytes");
  const std::uint64_t sizes[] = {config.rows,  config.ranks,        config.bank_groups,
                                 config.banks, bursts / low_lines_, low_lines_};

  bool seen[name_count] = {};
  bool powers_of_two = true;
  std::uint64_t weight = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    std::optional<Name> name;
    for (std::uint8_t n = 0; n < name_count; ++n) {
      if (order[i] == names[n]) name = static_cast<Name>(n);
    }
    if (order[i] == "column" && !columns_split) name = column_high;
    if (!name) fail("has no field named '" + std::string(order[i]) + "'");
    if (seen[*name]) fail("repeats '" + std::string(order[i]) + "'");
    seen[*name] = true;
    Field& field = fields_[*name];
    field.size = sizes[*name];
    field.weight = weight;
    field.mask = field.size - 1;
    field.shift = static_cast<std::uint32_t>(std::countr_zero(weight));
    powers_of_two &= std::has_single_bit(field.size) && std::has_single_bit(weight);
    weight *= field.size;
  }
  if (!columns_split) seen[column_low] = true;
  for (std::uint8_t n = 0; n < name_count; ++n) {
    if (!seen[n]) fail("lacks '" + std::string(names[n]) + "'");
  }
  if (powers_of_two) plain_below_ = Address(capacity_);
  if (config.hash) hash_mask_ = config.banks_in_rank() - 1;
  row_in_ = bits_to(row, 0);
  bank_in_ = bits_to(bank, 0);
  group_in_ = bits_to(bank_group, bank_bits_);
  rank_in_ = bits_to(rank, bank_bits_ + group_bits_);
}

Location AddressMapping::locate_by_division(Address address) const {
  const std::uint64_t line = address.value() / line_bytes;
  return place(value_by_division(row, line), value_by_division(rank, line),
               value_by_division(bank_group, line), value_by_division(bank, line));
}

std::uint32_t AddressMapping::column_of(Address address) const {
  const std::uint64_t line = address.value() / line_bytes;
  return (value_by_division(column_high, line) * low_lines_ + value_by_division(column_low, line)) *
         burst_length_;
}

Address AddressMapping::address(const Location& location, std::uint32_t column) const {
  const std::uint32_t burst = column / burst_length_;
  const std::uint32_t index = location.bank ^ folded(location.row);
  const std::uint64_t group = (index >> bank_bits_) & fields_[bank_group].mask;
  const std::uint64_t line =
      location.row * fields_[row].weight + location.rank * fields_[rank].weight +
      group * fields_[bank_group].weight + (index & fields_[bank].mask) * fields_[bank].weight +
      burst / low_lines_ * fields_[column_high].weight +
      burst % low_lines_ * fields_[column_low].weight;
  return Address(line * line_bytes);
}

}  // namespace nearfar::sim::dram
