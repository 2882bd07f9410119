#include "tier/service/held_changes.h"

#include <algorithm>

#include "tier/os/system.h"

namespace nearfar::tier {

bool HeldChanges::reserve(std::size_t most) {
  if (changes_ == nullptr)
    changes_ = os::pointer<os::Message>(os::reserve(most * sizeof(os::Message)));
  most_ = most;
  return changes_ != nullptr;
}

void HeldChanges::clear() {
  count_.store(0);
  lowest_ = ~os::Place{0};
  highest_ = 0;
  has_unmaps_.store(false);
}

void HeldChanges::add(const os::Message& change) {
  if (change.kind != os::Message::Kind::removed) has_unmaps_.store(true);
  const bool moves = change.kind == os::Message::Kind::moved;
  lowest_ = std::min({lowest_, change.begin, moves ? change.to : change.begin});
  highest_ = std::max({highest_, change.end, moves ? change.to + (change.end - change.begin) : 0});
  changes_[count_.load()] = change;
  count_.fetch_add(1);
}

bool HeldChanges::touches(os::Place at) const {
  if (at < lowest_ || at >= highest_) return false;
  const std::span<const os::Message> changes = all();
  return std::any_of(changes.begin(), changes.end(), [&](const os::Message& change) {
    return (at >= change.begin && at < change.end) ||
           (at >= change.to && at - change.to < change.end - change.begin);
  });
}

}  // namespace nearfar::tier
