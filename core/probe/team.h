#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "probe/disturbance.h"

namespace nearfar::probe {

/// Raises what has to stop a measurement, such as Ctrl-C; called between timings.
using Poll = std::function<void()>;

/// One of the threads that measure together.
class Member {
 public:
  Member(std::uint32_t index, std::uint32_t members, std::atomic<std::uint32_t>& ready,
         std::atomic<bool>& stop, const Poll* poll)
      : index_(index), members_(members), ready_(&ready), stop_(&stop), poll_(poll) {}

  [[nodiscard]] std::uint32_t index() const { return index_; }
  /// Whether this is the calling thread, which the others end with.
  [[nodiscard]] bool leads() const { return index_ == 0; }

  /// Waits until every member is here, so that all begin together.
  void await_start() const;

  /// Whether to go on; between timings, because the leader polls in it.
  [[nodiscard]] bool carry_on() const;

 private:
  std::uint32_t index_;
  std::uint32_t members_;
  std::atomic<std::uint32_t>* ready_;
  std::atomic<bool>* stop_;
  const Poll* poll_;
};

/// Runs `work` once a processor of `cpus`, each thread pinned to its own; the calling thread is
/// the first of them. `stop_with_leader`: the others are told to stop when the first is done.
/// Answers what disturbed them, summed. What the poll or a member throws comes out here, after
/// all have stopped.
Disturbance run_team(const std::vector<int>& cpus, const std::function<void(Member&)>& work,
                     const Poll& poll, bool stop_with_leader = false);

}  // namespace nearfar::probe
