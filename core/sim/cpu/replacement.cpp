#include "sim/cpu/replacement.h"

#include <algorithm>

#include "base/error.h"

namespace nearfar::sim::cpu {
namespace {

constexpr std::uint8_t newcomer = 1;
constexpr std::uint8_t oldest = 3;

}  // namespace

Policy policy_of(const std::string& name, const std::string& key) {
  if (name == "lru") return Policy::lru;
  if (name == "plru") return Policy::plru;
  if (name == "qlru") return Policy::qlru;
  if (name == "random") return Policy::random;
  throw InputError(key + ": policy '" + name +
                   "' is not known, expected lru, plru, qlru or random");
}

Replacement::Replacement(Policy policy, std::uint64_t sets, std::uint32_t ways, std::uint64_t seed)
    : policy_(policy), ways_(ways), rng_(seed) {
  if (policy == Policy::lru) state_.resize(sets * ways);
  if (policy == Policy::plru) {
    state_.resize(sets);
    for (std::uint32_t way = 0; way < ways; ++way) path_.push_back(path_to(way, ways));
  }
  if (policy == Policy::qlru) ages_.resize(sets * ways, newcomer);
}

void Replacement::hit_others(std::uint64_t set, std::uint32_t way) {
  switch (policy_) {
    case Policy::lru:
      state_[set * ways_ + way] = ++clock_;
      break;
    case Policy::qlru: {
      std::uint8_t& age = ages_[set * ways_ + way];
      age = age >= 2 ? 1 : 0;
      break;
    }
    case Policy::plru:
    case Policy::random:
      break;
  }
}

void Replacement::filled(std::uint64_t set, std::uint32_t way) {
  if (policy_ == Policy::qlru) {
    ages_[set * ways_ + way] = newcomer;
  } else {
    hit(set, way);
  }
}

std::uint32_t Replacement::victim(std::uint64_t set) {
  switch (policy_) {
    case Policy::lru: {
      const auto first = state_.begin() + static_cast<std::ptrdiff_t>(set * ways_);
      return static_cast<std::uint32_t>(std::min_element(first, first + ways_) - first);
    }
    case Policy::plru: {
      std::uint32_t node = 1;
      while (node < ways_) node = 2 * node + static_cast<std::uint32_t>(state_[set] >> node & 1);
      return node - ways_;
    }
    case Policy::qlru: {
      const auto first = ages_.begin() + static_cast<std::ptrdiff_t>(set * ways_);
      const auto last = first + ways_;
      const auto older = static_cast<std::uint8_t>(oldest - *std::max_element(first, last));
      for (auto age = first; age != last; ++age) *age = static_cast<std::uint8_t>(*age + older);
      return static_cast<std::uint32_t>(std::find(first, last, oldest) - first);
    }
    case Policy::random:
      return static_cast<std::uint32_t>(rng_.below(ways_));
  }
  return 0;
}

/// The nodes of the tree are numbered as a heap's, from 1; a bit says which child is older.
Replacement::Path Replacement::path_to(std::uint32_t way, std::uint32_t ways) {
  Path path;
  for (std::uint32_t node = way + ways; node > 1; node /= 2) {
    const std::uint64_t parent = std::uint64_t{1} << (node / 2);
    path.all |= parent;
    if ((node & 1) == 0) path.away |= parent;
  }
  return path;
}

}  // namespace nearfar::sim::cpu
