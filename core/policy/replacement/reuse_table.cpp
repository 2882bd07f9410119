#include "policy/replacement/reuse_table.h"

#include <algorithm>
#include <bit>

namespace nearfar::policy {
namespace {

constexpr float kept = 0.98F;
constexpr float unit = 4;  // where the second age begins
constexpr float first_kind = 4 * unit;  // where mean intervals begin to be told apart

/// Half octaves from 1 on: 1 -> 0, 1.5 -> 1, 2 -> 2, 3 -> 3, 4 -> 4, ...; less than 1 is 0.
std::size_t half_octaves(float x) {
  if (x < 1) return 0;
  // The exponent, and the highest bit after the point, stand next to each other.
  const auto bits = std::bit_cast<std::uint32_t>(x) >> 22;
  return bits - (std::bit_cast<std::uint32_t>(1.0F) >> 22);
}

/// 0 -> 1, 1 -> 1.5, 2 -> 2, 3 -> 3, 4 -> 4, ...
float first_of(std::size_t half_octave) {
  const auto octave = static_cast<float>(std::uint64_t{1} << (half_octave / 2));
  return octave * (half_octave % 2 == 0 ? 1.0F : 1.5F);
}

float first_time(std::size_t age) { return age == 0 ? 0 : unit * first_of(age - 1); }

/// Of pages of a kind and age among which none has been seen: from what the kind says, their mean
/// interval and how many uses that is over; of one used once, that it waits as long again.
float unseen_hazard(std::size_t kind, float age) {
  if (kind == ReuseTable::used_once) return 1 / age;
  constexpr std::array<float, ReuseTable::certainties> uses{2, 3.5F, 7, 16};
  const std::size_t interval = kind / ReuseTable::certainties;
  const float mean = first_kind * (first_of(interval) + first_of(interval + 1)) / 2;
  return 1 / (mean + age / uses[kind % ReuseTable::certainties]);
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
  const std::size_t interval = std::min(half_octaves(mean_interval / first_kind), intervals - 1);
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
    const float guess =
        cell.time > 0 ? cell.promised / cell.time : unseen_hazard(kind, begin + width / 2);
    const float hazard = guess * trust(kind, age);
    Stay here =
        age == ages - 1 ? Stay{.used = 1, .time = 1 / hazard, .left = 0} : stay(hazard, width);
    while (count > 0 && here.is_worth_less_than(best[count - 1])) here.go_on(best[--count]);
    best[count++] = here;
    worth_[kind][age] = here.used / here.time / guess;
    cell = {cell.uses * kept, cell.time * kept, cell.promised * kept};
  }
}

}  // namespace nearfar::policy
