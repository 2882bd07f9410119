#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "policy/replacement/replacement.h"
#include "tier/os/system.h"
#include "tier/pager/fault_record.h"

namespace nearfar::tier {

/// A record of what a policy was told and what it answered, for `tier replay` and for tests of
/// policies. The launcher makes the file, which all processes of a tree map and append to: a head
/// (fault_record.h), then a word for each event.
class FaultLog {
 public:
  using Event = FaultEvent;
  using Head = FaultRecordHead;

  FaultLog() = default;
  /// A mapped file of `bytes`.
  FaultLog(Head* head, std::size_t bytes)
      : head_(head), most_((bytes - sizeof(Head)) / sizeof(std::uint64_t)) {}

  /// Whose events these are from now on.
  void become(std::int32_t process) { process_ = static_cast<std::uint32_t>(process); }

  void add(Event event, policy::PageIndex page) {
    if (head_ == nullptr) return;
    const std::uint64_t at = head_->events.fetch_add(1, std::memory_order_relaxed);
    if (at >= most_ || (at >= roomy_ && !make_room(at))) return;
    reinterpret_cast<std::uint64_t*>(head_ + 1)[at] =
        static_cast<std::uint64_t>(event) << 60U | std::uint64_t{page} << 32U | process_;
  }

 private:
  /// Has the file system give it the next piece: a write for which it has no room would end the
  /// program. False, now and from now on, if it has none.
  bool make_room(std::uint64_t at) {
    constexpr std::uint64_t piece = std::size_t{64} << 10U;
    const os::Place words = os::place(head_ + 1);
    const os::Place begin = (words + at * sizeof(std::uint64_t)) / os::page_bytes * os::page_bytes;
    const os::Place end = words + most_ * sizeof(std::uint64_t);
    const std::uint64_t length = std::min<std::uint64_t>(piece, end - begin);
    if (os::advise(begin, length, MADV_POPULATE_WRITE) == -EFAULT) {
      most_ = at;
      return false;
    }
    roomy_ = (begin + length - words) / sizeof(std::uint64_t);
    return true;
  }

  Head* head_ = nullptr;
  std::uint64_t most_ = 0;
  std::uint64_t roomy_ = 0;  // events for which there is room
  std::uint32_t process_ = 0;
};

}  // namespace nearfar::tier
