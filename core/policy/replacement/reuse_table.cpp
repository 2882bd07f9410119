#include "policy/replacement/reuse_table.h"

#include <algorithm>
#include <bit>

namespace nearfar::policy {
namespace {

constexpr float kept = 0.96F;
constexpr float unit = 4;  // where the second age begins

/// Half octaves from 1 on: 1 -> 0, 1.5 -> 1, 2 -> 2, 3 -> 3, 4 -> 4, ...; less than 1 is 0.
std::size_t half_octaves(float x) {
  if (x < 1) return 0;
  // The exponent, and the highest bit after the point, stand next to each other.
  const auto bits = std::bit_cast<std::uint32_t>(x) >> 22;
  return bits - (std::bit_cast<std::uint32_t>(1.0F) >> 22);
}

float first_time(std::size_t age) {
  if (age == 0) return 0;
  const auto octave = static_cast<float>(std::uint64_t{1} << ((age - 1) / 2));
  return unit * octave * ((age - 1) % 2 == 0 ? 1.0F : 1.5F);
}

/// Ages through which a page is kept, or until it is used: of the pages that reach the first how
/// many are used, the mean time that they take up, and how many outlive the last unused.
struct Stay {
  float used;
  float time;
  float left;

  [[nodiscard]] bool is_worth_less_than(const Stay& other) const {
    return used * other.time < other.used * time;
  }
  void go_on(const Stay& next) {
    used += left * next.used;
    time += left * next.time;
    left *= next.left;
  }
};

Stay stay(float hazard, float width) {
  // e^-x of the pages outlive it; a series of three terms will do.
  const float x = hazard * width;
  const float left = 1 / (1 + x + x * x / 2);
  return {.used = 1 - left, .time = width * (1 + x / 2) * left, .left = left};
}

}  // namespace

ReuseTable::ReuseTable() {
  for (std::size_t kind = 0; kind < kinds; ++kind) refresh(kind);
}

std::size_t ReuseTable::kind_of(float mean_interval, unsigned intervals_seen) {
  if (intervals_seen == 0) return used_once;
  const std::size_t certainty = intervals_seen < 2   ? 0
                                : intervals_seen < 4 ? 1
                                : intervals_seen < 9 ? 2
                                                     : 3;
  const std::size_t interval = std::min(half_octaves(mean_interval / (4 * unit)), intervals - 1);
  return interval * certainties + certainty;
}

std::size_t ReuseTable::age_of(float time) {
  const float units = time / unit;
  return units < 1 ? 0 : std::min(half_octaves(units) + 1, ages - 1);
}

void ReuseTable::refresh(std::size_t kind) {
  // From the last age to the first: the best stay from an age on goes through the next one's best
  // stay if that is worth more than what comes before it.
  std::array<Stay, ages> best;
  std::size_t count = 0;
  for (std::size_t age = ages; age-- > 0;) {
    Cell& cell = cells_[kind][age];
    const float begin = first_time(age);
    const float width = first_time(age + 1) - begin;
    // Where no page has been, one that has waited so long waits as long again.
    const float guess = cell.time > 0 ? cell.promised / cell.time : 1 / (begin + width / 2);
    const float hazard = guess * (cell.uses + 1) / (cell.promised + 1);
    Stay here =
        age == ages - 1 ? Stay{.used = 1, .time = 1 / hazard, .left = 0} : stay(hazard, width);
    while (count > 0 && here.is_worth_less_than(best[count - 1])) here.go_on(best[--count]);
    best[count++] = here;
    worth_[kind][age] = here.used / here.time / guess;
    cell = {cell.uses * kept, cell.time * kept, cell.promised * kept};
  }
}

}  // namespace nearfar::policy
