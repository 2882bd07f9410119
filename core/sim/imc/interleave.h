#pragma once

#include <bit>
#include <cstdint>

#include "base/address.h"

namespace nearfar::sim::imc {

/// Spreads the address space over the channels, `granularity` bytes at a time, and what each
/// channel gets over its subchannels, if it has several. A bijection for any number of channels;
/// nothing but the address decides. Subchannels are counted over the machine: those of channel
/// 0 come first.
class Interleave {
 public:
  struct Place {
    std::uint32_t channel;  ///< or subchannel
    Address local;
  };

  Interleave(std::uint32_t channels, Bytes granularity, std::uint32_t subchannels = 1,
             Bytes subchannel_granularity = line_bytes)
      : total_(channels * subchannels),
        outer_(channels, granularity),
        inner_(subchannels, subchannel_granularity) {}

  [[nodiscard]] Place place(Address address) const {
    if (total_ == 1) return {0, address};
    const Place in_channel = outer_.place(address);
    if (inner_.ways == 1) return in_channel;
    const Place inside = inner_.place(in_channel.local);
    return {in_channel.channel * inner_.ways + inside.channel, inside.local};
  }

  [[nodiscard]] Address address(Place place) const {
    if (total_ == 1) return place.local;
    if (inner_.ways == 1) return outer_.address(place);
    const Address local = inner_.address({place.channel % inner_.ways, place.local});
    return outer_.address({place.channel / inner_.ways, local});
  }

 private:
  /// One level: chunks go round. Most are by powers of two, and need no division.
  struct Split {
    Split(std::uint32_t count, Bytes chunk_bytes)
        : ways(count),
          granularity(chunk_bytes),
          plain(std::has_single_bit(count) && std::has_single_bit(chunk_bytes)),
          way_bits(static_cast<std::uint32_t>(std::countr_zero(count))),
          chunk_bits(static_cast<std::uint32_t>(std::countr_zero(chunk_bytes))) {}

    std::uint32_t ways;
    Bytes granularity;
    bool plain;
    std::uint32_t way_bits;    ///< if plain
    std::uint32_t chunk_bits;  ///< if plain

    [[nodiscard]] Place place(Address address) const {
      if (ways == 1) return {0, address};
      const std::uint64_t value = address.value();
      if (plain) {
        const std::uint64_t chunk = value >> chunk_bits;
        return {static_cast<std::uint32_t>(chunk & (ways - 1)),
                Address((chunk >> way_bits << chunk_bits) | (value & (granularity - 1)))};
      }
      const std::uint64_t chunk = value / granularity;
      return {static_cast<std::uint32_t>(chunk % ways),
              Address(chunk / ways * granularity + value % granularity)};
    }
    [[nodiscard]] Address address(Place place) const {
      if (ways == 1) return place.local;
      const std::uint64_t value = place.local.value();
      if (plain) {
        const std::uint64_t chunk = (value >> chunk_bits << way_bits) | place.channel;
        return Address((chunk << chunk_bits) | (value & (granularity - 1)));
      }
      const std::uint64_t chunk = value / granularity * ways + place.channel;
      return Address(chunk * granularity + value % granularity);
    }
  };

  std::uint32_t total_;
  Split outer_;
  Split inner_;
};

}  // namespace nearfar::sim::imc
