#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tier/os/system.h"
#include "tier/os/uffd.h"

namespace nearfar::tier {

/// A page that a thread waits for.
struct WaitingFault {
  os::Place at;
  os::Touch touch;
  int thread;
  std::size_t worker;   ///< the pager's thread that is to serve it
  std::uint64_t since;  ///< when the pager learnt of it, in nanoseconds
};

/// Faults that the pager has learnt of and has not served yet, in that order.
class WaitingFaults {
 public:
  /// Room for `most`, and for one more that each of `workers` puts back. False if there is no
  /// address space; the room is kept for later starts.
  [[nodiscard]] bool reserve(std::size_t most, std::size_t workers);
  void clear() { count_ = 0; }

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool has_room_for(std::size_t more) const { return count_ + more <= most_; }
  void add(const WaitingFault& fault) { faults_[count_++] = fault; }

  [[nodiscard]] bool has_any_of(std::size_t worker) const {
    return std::any_of(faults_, faults_ + count_,
                       [&](const WaitingFault& fault) { return fault.worker == worker; });
  }
  /// Takes the first fault that `worker` is to serve and `can_serve`; nothing if there is none.
  template <typename CanServe>
  [[nodiscard]] std::optional<WaitingFault> take_first(std::size_t worker,
                                                       const CanServe& can_serve) {
    WaitingFault* const end = faults_ + count_;
    WaitingFault* const found = std::find_if(faults_, end, [&](const WaitingFault& fault) {
      return fault.worker == worker && can_serve(fault);
    });
    if (found == end) return std::nullopt;
    const WaitingFault taken = *found;
    std::copy(found + 1, end, found);
    --count_;
    return taken;
  }
  /// Calls `serve` with each, and keeps those for which it returns false.
  template <typename Serve>
  void serve_all(const Serve& serve) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const WaitingFault fault = faults_[i];
      if (!serve(fault)) faults_[kept++] = fault;
    }
    count_ = kept;
  }

 private:
  WaitingFault* faults_ = nullptr;
  std::size_t count_ = 0;
  std::size_t most_ = 0;
};

}  // namespace nearfar::tier
