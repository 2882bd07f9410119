#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/os/system.h"
#include "tier/pager/page_table.h"

namespace nearfar::tier {

/// The groups that streams of read-ahead will run into next, the last of them, and the part of each
/// that has been read so far to where it waits for its first touch.
class ExpectedGroups {
 public:
  struct Group {
    PageNumber first = no_page;  ///< no_page: none
    std::uint64_t since = 0;
    std::size_t read = 0;  ///< of its pages, in order
    os::Place memory = 0;  ///< a huge page of staging memory, which is charged; 0: none yet
    std::uint64_t held_since = 0;  ///< in faults
    bool unfit = false;  ///< it cannot have one
    std::size_t passed = 0;  ///< groups that the stream has run into before it
    bool chained = false;  ///< the stream comes to another first
    std::uint64_t looked_behind = 0;  ///< in faults, for one to be expected next; 0: never

    [[nodiscard]] bool held() const { return memory != 0; }
  };
  /// One for each stream (streams.h), and one for that which runs into its group just now. What
  /// they leave free is for groups behind those.
  static constexpr std::size_t most = 9;

  /// The group that has this first page; null if it is not expected.
  [[nodiscard]] Group* find(PageNumber first) {
    for (Group& group : groups_)
      if (group.first == first) return &group;
    return nullptr;
  }
  [[nodiscard]] bool has(PageNumber first) const {
    return std::any_of(groups_.begin(), groups_.end(),
                       [=](const Group& group) { return group.first == first; });
  }
  [[nodiscard]] std::array<Group, most>& all() { return groups_; }
  /// The place for another: free, or of a group that is to be given up first, of those behind
  /// another the last, else the one that has been expected longest; not that of `kept`.
  [[nodiscard]] Group& next(PageNumber kept) {
    if (Group* const free = find(no_page)) return *free;
    Group* last = nullptr;
    for (Group& group : groups_)
      if (group.chained && (last == nullptr || group.since > last->since)) last = &group;
    if (last != nullptr) return *last;
    return *oldest([&](const Group& group) { return group.first != kept; });
  }
  /// What is in that place from now on.
  void expect(Group& place, PageNumber first, std::size_t passed = 0) {
    place = {.first = first, .since = ++clock_, .passed = passed};
  }

  /// The group that has been expected longest of those that the question is true of; null if it is
  /// of none.
  template <class Question>
  [[nodiscard]] Group* oldest(const Question& question) {
    Group* found = nullptr;
    for (Group& group : groups_) {
      if (group.first == no_page || !question(group)) continue;
      if (found == nullptr || group.since < found->since) found = &group;
    }
    return found;
  }
  [[nodiscard]] std::size_t index(const Group& group) const {
    return static_cast<std::size_t>(&group - groups_.data());
  }
  [[nodiscard]] bool any() const {
    return std::any_of(groups_.begin(), groups_.end(),
                       [](const Group& group) { return group.first != no_page; });
  }
  [[nodiscard]] std::size_t held() const {
    std::size_t count = 0;
    for (const Group& group : groups_) count += group.held() ? 1 : 0;
    return count;
  }

 private:
  std::array<Group, most> groups_{};
  std::uint64_t clock_ = 0;
};

}  // namespace nearfar::tier
