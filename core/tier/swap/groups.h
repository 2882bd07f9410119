#pragma once

#include <cstdint>
#include <vector>

#include "policy/replacement/replacement.h"
#include "tier/os/system.h"

namespace nearfar::tier::swap {

using policy::PageIndex;

/// Hands out the dense numbers that policies know pages by: to 64 neighbouring pages of a process
/// at a time, a *group*, when one of them is first seen. A group that holds nothing any more is
/// given back and its numbers serve another, so that there are never more than the most pages that
/// there were at once, to whole groups.
class Groups {
 public:
  static constexpr std::size_t pages = 64;
  static constexpr std::size_t bytes = pages * os::page_bytes;

  /// Where a group lies, and its owner, in the words of the launcher that took it.
  struct Group {
    std::uint32_t owner = 0;
    os::Place base = 0;
  };

  [[nodiscard]] std::uint32_t take(const Group& group) {
    if (free_.empty()) {
      groups_.push_back(group);
      return static_cast<std::uint32_t>(groups_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    groups_[number] = group;
    return number;
  }
  void give_back(std::uint32_t number) { free_.push_back(number); }

  /// One beyond the highest page number handed out so far.
  [[nodiscard]] PageIndex end() const {
    return page(static_cast<std::uint32_t>(groups_.size()), 0);
  }

  [[nodiscard]] static PageIndex page(std::uint32_t group, unsigned which) {
    return group * static_cast<PageIndex>(pages) + which;
  }
  [[nodiscard]] static unsigned which(PageIndex page) { return page % pages; }
  [[nodiscard]] const Group& of(PageIndex page) const { return groups_[page / pages]; }
  [[nodiscard]] os::Place place(PageIndex page) const {
    return of(page).base + which(page) * os::page_bytes;
  }

 private:
  std::vector<Group> groups_;
  std::vector<std::uint32_t> free_;
};

}  // namespace nearfar::tier::swap
