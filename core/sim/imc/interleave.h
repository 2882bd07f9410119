#pragma once

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
        outer_{channels, granularity},
        inner_{subchannels, subchannel_granularity} {}

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
  /// One level: chunks go round.
  struct Split {
    std::uint32_t ways;
    Bytes granularity;

    [[nodiscard]] Place place(Address address) const {
      if (ways == 1) return {0, address};
      const std::uint64_t chunk = address.value() / granularity;
      return {static_cast<std::uint32_t>(chunk % ways),
              Address(chunk / ways * granularity + address.value() % granularity)};
    }
    [[nodiscard]] Address address(Place place) const {
      if (ways == 1) return place.local;
      const std::uint64_t chunk = place.local.value() / granularity * ways + place.channel;
      return Address(chunk * granularity + place.local.value() % granularity);
    }
  };

  std::uint32_t total_;
  Split outer_;
  Split inner_;
};

}  // namespace nearfar::sim::imc
