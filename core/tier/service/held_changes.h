#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "tier/os/uffd.h"

namespace nearfar::tier {

/// Changes to the program's memory that the kernel has told of while a fork goes on. The pager
/// applies them after it, as the child must find the state from before.
class HeldChanges {
 public:
  /// Room for `most`. False if there is no address space; the room is kept for later starts.
  [[nodiscard]] bool reserve(std::size_t most);
  void clear();

  [[nodiscard]] bool has_room_for(std::size_t more) const { return count_.load() + more <= most_; }
  /// A child that is forked at any moment finds no more changes than have been written.
  void add(const os::Message& change);
  /// Whether a change concerns the page at `at`.
  [[nodiscard]] bool touches(os::Place at) const;
  [[nodiscard]] std::span<const os::Message> all() const { return {changes_, count_.load()}; }
  /// For any thread: whether some mapping was unmapped or has moved.
  [[nodiscard]] bool has_unmaps() const { return has_unmaps_.load(); }

 private:
  os::Message* changes_ = nullptr;
  std::size_t most_ = 0;
  os::Place lowest_ = ~os::Place{0};  ///< that a change concerns
  os::Place highest_ = 0;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> has_unmaps_{false};
};

}  // namespace nearfar::tier
