#include "policy/replacement/reuse_table.h"

#include <algorithm>
#include <bit>

namespace nearfar::policy {
namespace {

constexpr float kept = 0.96F;

/// Half octaves from 1 on: 1 -> 0, 1.5 -> 1, 2 -> 2, 3 -> 3, 4 -> 4, ...; less than 1 is 0.
std::size_t half_octaves(float x) {
  if (x < 1) return 0;
  // The exponent, and the highest bit after the point, stand next to each other.
  const auto bits = std::bit_cast<std::uint32_t>(x) >> 22;
  return bits - (std::bit_cast<std::uint32_t>(1.0F) >> 22);
}

}  // namespace

void ReuseTable::resize(std::uint32_t capacity) {
  unit_ = std::max(1.0F, static_cast<float>(capacity) / 32);
  refresh();
}

std::size_t ReuseTable::kind_of(float mean_interval) const {
  return std::min(half_octaves(mean_interval / (4 * unit_)), used_once - 1);
}

std::size_t ReuseTable::age_of(std::uint32_t time) const {
  const float units = static_cast<float>(time) / unit_;
  return units < 1 ? 0 : std::min(half_octaves(units) + 1, ages - 1);
}

float ReuseTable::first_time(std::size_t age) const {
  if (age == 0) return 0;
  const auto octave = static_cast<float>(std::uint64_t{1} << ((age - 1) / 2));
  return unit_ * octave * ((age - 1) % 2 == 0 ? 1.0F : 1.5F);
}

void ReuseTable::refresh() {
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    float wait = 0;
    for (std::size_t age = ages; age-- > 0;) {
      Cell& cell = cells_[kind][age];
      const float begin = first_time(age);
      const float width = first_time(age + 1) - begin;
      // Where no page has been, one that has waited so long waits as long again.
      const float guess = cell.time > 0 ? cell.promised / cell.time : 1 / (begin + width / 2);
      const float hazard = guess * (cell.uses + 1) / (cell.promised + 1);
      if (age == ages - 1) {
        wait = 1 / hazard;
      } else {
        // Of the pages that reach this age e^-x outlive it; a series of three terms will do.
        const float x = hazard * width;
        wait = (width * (1 + x / 2) + wait) / (1 + x + x * x / 2);
      }
      factors_[kind][age] = wait * guess;
      cell = {cell.uses * kept, cell.time * kept, cell.promised * kept};
    }
  }
}

}  // namespace nearfar::policy
