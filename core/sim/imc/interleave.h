#pragma once

#include <cstdint>

#include "base/address.h"

namespace nearfar::sim::imc {

/// Spreads the address space over the channels, `granularity` bytes at a time. A bijection
/// for any number of channels; nothing but the address decides.
class Interleave {
 public:
  struct Place {
    std::uint32_t channel;
    Address local;
  };

  Interleave(std::uint32_t channels, Bytes granularity)
      : channels_(channels), granularity_(granularity) {}

  [[nodiscard]] Place place(Address address) const {
    if (channels_ == 1) return {0, address};
    const std::uint64_t chunk = address.value() / granularity_;
    return {static_cast<std::uint32_t>(chunk % channels_),
            Address(chunk / channels_ * granularity_ + address.value() % granularity_)};
  }

  [[nodiscard]] Address address(Place place) const {
    if (channels_ == 1) return place.local;
    const std::uint64_t chunk = place.local.value() / granularity_ * channels_ + place.channel;
    return Address(chunk * granularity_ + place.local.value() % granularity_);
  }

 private:
  std::uint32_t channels_;
  Bytes granularity_;
};

}  // namespace nearfar::sim::imc
