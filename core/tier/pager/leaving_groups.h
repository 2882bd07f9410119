#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/pager/page_table.h"
#include "tier/pager/streams.h"
#include "tier/pager/windows.h"

namespace nearfar::tier {

/// Groups that were filled as one, and of which the policy has named some pages. These stay in
/// their place until it has named all, so that the group leaves as one: a policy that has two
/// queues takes from each in turn, and pages of several groups that came in turn, by as many
/// streams, leave so.
class LeavingGroups {
 public:
  struct Group {
    PageNumber first = no_page;  ///< no_page: none
    std::size_t count = 0;  ///< of its pages, named
    std::uint64_t since = 0;
    std::array<std::uint64_t, huge_pages / 64> named{};

    [[nodiscard]] bool has(PageNumber page) const {
      const std::size_t i = page - first;
      return i < huge_pages && (named[i / 64] >> (i % 64) & 1U) != 0;
    }
  };
  static constexpr std::size_t most = Streams::most;

  /// The policy has named this page. The group that leaves now, with all that was named of it, as
  /// that is all of it, or as it has waited longest when another needs its place; empty if none
  /// does.
  [[nodiscard]] Group name(PageNumber page) {
    const auto first = static_cast<PageNumber>(page - page % huge_pages);
    Group leaves;
    Group* group = find(first);
    if (group == nullptr) {
      group = find(no_page);
      if (group == nullptr) group = &oldest();
      leaves = take(*group);
      *group = {.first = first, .since = ++clock_};
      ++used_;
    }
    if (group->has(page)) return leaves;
    group->named[(page - first) / 64] |= std::uint64_t{1} << (page - first) % 64;
    if (++group->count < huge_pages) return leaves;
    return take(*group);
  }
  /// The group that has waited longest, which waits no more; an empty one if there is none.
  [[nodiscard]] Group take_oldest() { return take(oldest()); }
  /// The page has come back since it was named, and is the policy's again.
  void came_back(PageNumber page) {
    if (used_ == 0) return;  // as a rule; every page that comes asks
    for (Group& group : groups_) {
      if (group.first == no_page || !group.has(page)) continue;
      group.named[(page - group.first) / 64] &= ~(std::uint64_t{1} << (page - group.first) % 64);
      --group.count;
    }
  }

 private:
  [[nodiscard]] Group* find(PageNumber first) {
    for (Group& group : groups_)
      if (group.first == first) return &group;
    return nullptr;
  }
  /// The group that has waited longest; an empty one if there is none.
  [[nodiscard]] Group& oldest() {
    const auto earlier = [](const Group& a, const Group& b) {
      return a.first != no_page && (b.first == no_page || a.since < b.since);
    };
    return *std::min_element(groups_.begin(), groups_.end(), earlier);
  }
  [[nodiscard]] Group take(Group& group) {
    const Group taken = group;
    group = {};
    if (taken.first != no_page) --used_;
    return taken;
  }

  std::array<Group, most> groups_{};
  std::size_t used_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace nearfar::tier
