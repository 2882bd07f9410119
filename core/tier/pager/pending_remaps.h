#pragma once

#include <array>
#include <cstddef>

#include "tier/os/system.h"
#include "tier/pager/page_table.h"

namespace nearfar::tier {

/// Mappings that the program has moved by a system call of its own, with pages that were not near
/// then: what those hold must follow.
class PendingRemaps {
 public:
  struct Remap {
    os::Place begin = 0;  ///< where the mapping is now
    os::Place end = 0;
    PageNumber first = 0;  ///< its first page's number where it was

    [[nodiscard]] PageNumber page(os::Place at) const {
      return first + static_cast<PageNumber>((at - begin) / os::page_bytes);
    }
    [[nodiscard]] PageNumber last() const { return page(end); }
  };

  static constexpr std::size_t most = 64;

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const Remap& back() const { return pending_remaps_[count_ - 1]; }
  void pop_back() { --count_; }

  /// False if there are too many.
  [[nodiscard]] bool add(const Remap& remap) {
    if (count_ == pending_remaps_.size()) return false;
    pending_remaps_[count_++] = remap;
    return true;
  }

  /// Whether this page's contents are still to follow.
  [[nodiscard]] bool hold(PageNumber page) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (pending_remaps_[i].first <= page && page < pending_remaps_[i].last()) return true;
    return false;
  }

  /// Takes out a part of one that lies between two addresses. False if there is none.
  [[nodiscard]] bool cut(os::Place begin, os::Place end, Remap& part) {
    for (std::size_t i = 0; i < count_; ++i) {
      const Remap whole = pending_remaps_[i];
      if (whole.end <= begin || end <= whole.begin) continue;
      pending_remaps_[i] = pending_remaps_[--count_];
      const os::Place from = whole.begin < begin ? begin : whole.begin;
      const os::Place to = end < whole.end ? end : whole.end;
      part = {.begin = from, .end = to, .first = whole.page(from)};
      if ((whole.begin < from && !add({whole.begin, from, whole.first})) ||
          (to < whole.end && !add({to, whole.end, whole.page(to)})))
        os::fail("too many mappings that were moved past libc");
      return true;
    }
    return false;
  }

 private:
  std::array<Remap, most> pending_remaps_{};
  std::size_t count_ = 0;
};

}  // namespace nearfar::tier
