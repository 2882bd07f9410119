#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "tier/pager/page_table.h"

namespace nearfar::tier {

/// Groups of which pages were given back lately, so that perhaps none is used any more. What the
/// table keeps of them stays for a while: programs that give memory back take it again.
class EmptyGroups {
 public:
  EmptyGroups() { groups_.fill(no_page); }

  /// Notes a group, by its first page; the one that has been noted longest, of more than `room`,
  /// which is to be looked at, or `no_page`.
  [[nodiscard]] PageNumber note(PageNumber group, std::size_t room) {
    room = std::min(room, groups_.size());
    if (std::find(groups_.begin(), groups_.end(), group) != groups_.end()) return no_page;
    next_ = next_ + 1 < room ? next_ + 1 : 0;
    std::swap(group, groups_[next_]);
    return group;
  }

 private:
  std::array<PageNumber, 64> groups_{};
  std::size_t next_ = 0;
};

}  // namespace nearfar::tier
