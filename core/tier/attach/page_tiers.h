#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/offline/owned.h"
#include "tier/attach/process_memory.h"
#include "tier/swap/groups.h"

namespace nearfar::tier::attach {

using policy::PageIndex;
using policy::Tier;
using swap::Groups;

/// The two nodes; on a machine that has one, they are the same, and what is near is what is counted
/// as near.
struct Nodes {
  int near = 0;
  int far = 0;
  [[nodiscard]] bool are_one() const { return near == far; }
  [[nodiscard]] int of(Tier tier) const { return tier == Tier::near ? near : far; }
};

/// Which pages a process has in RAM, and in which tier each is. Looks at the memory keep it true,
/// and a policy is told of what comes, goes, and moves.
class PageTiers {
 public:
  /// What a look has found of 64 neighbouring pages, one bit a page.
  struct Group {
    Place base = 0;
    std::uint64_t present = 0;
    std::uint64_t near = 0;
    std::uint64_t used = 0;  ///< found by the last look
    std::uint64_t written = 0;  ///< of those
    std::uint64_t left_out = 0;  ///< moved since: the next look finds them used by that alone
    std::uint64_t refused = 0;  ///< would not move of late
    bool huge = false;
  };

  PageTiers(policy::OwnedPlacement& policy, ProcessMemory& memory, Nodes nodes)
      : policy_(policy), memory_(memory), nodes_(nodes) {}

  /// Looks once. Pages that are new are placed where the kernel has put them; with one node, near.
  /// False if the process cannot be looked at.
  bool look(bool forgets_writes);
  /// Tells the policy what the look has found of each page but those that were left out; returns
  /// how many of them were used.
  std::uint64_t tell();
  /// Looks up the nodes of a part of all pages, the next ones each time: large folios move as one.
  void check(std::size_t parts);

  /// Whether the page is there, in that tier, and did not refuse to move of late.
  [[nodiscard]] bool can_leave(PageIndex page, Tier tier) const;
  [[nodiscard]] bool was_used(PageIndex page) const { return has(group(page).used, page); }
  [[nodiscard]] Place place(PageIndex page) const {
    return group(page).base + Groups::which(page) * page_bytes;
  }
  /// The pages that would move with it.
  [[nodiscard]] std::uint64_t moved_with(PageIndex page) const;

  /// Moves pages to a tier; returns how many went there, those that moved with them included.
  std::uint64_t move(std::span<const PageIndex> pages, Tier to, std::uint64_t& refused);
  /// Those that refused are tried again.
  void forgive();

  [[nodiscard]] std::uint64_t near() const { return near_; }
  [[nodiscard]] std::uint64_t far() const { return present_ - near_; }
  [[nodiscard]] std::uint64_t managed() const { return present_; }
  /// Pages that were found for the first time.
  [[nodiscard]] std::uint64_t came() const { return came_; }
  /// All numbers of pages lie below.
  [[nodiscard]] PageIndex end() const { return groups_.end(); }

 private:
  struct Seen {
    Place base = 0;
    std::uint64_t present = 0;
    std::uint64_t used = 0;
    std::uint64_t written = 0;
    bool huge = false;
  };

  void add(const Run& run);
  /// With one node nothing moves, so that no other page would move with it.
  [[nodiscard]] bool is_huge(PageIndex page) const { return group(page).huge && !nodes_.are_one(); }
  [[nodiscard]] std::vector<PageIndex> once_each(std::span<const PageIndex> pages) const;
  void merge();
  void update(std::uint32_t number, const Seen& now);
  void place_new();
  void set(PageIndex page, Tier tier);
  void check_group(std::uint32_t number);
  void check_huge(Place begin);
  [[nodiscard]] std::vector<std::uint32_t>::const_iterator first_from(Place at) const;
  [[nodiscard]] const Group& group(PageIndex page) const { return all_[page / Groups::pages]; }
  [[nodiscard]] Group& group(PageIndex page) { return all_[page / Groups::pages]; }
  [[nodiscard]] static std::uint64_t bit(PageIndex page) {
    return std::uint64_t{1} << Groups::which(page);
  }
  [[nodiscard]] static bool has(std::uint64_t set, PageIndex page) {
    return (set & bit(page)) != 0;
  }

  policy::OwnedPlacement& policy_;
  ProcessMemory& memory_;
  Nodes nodes_;
  Groups groups_;
  std::vector<Group> all_;  // by number
  std::vector<std::uint32_t> order_;  // numbers, by address
  std::vector<Seen> seen_;  // by the look that is under way
  std::vector<PageIndex> new_;
  std::vector<Place> places_;
  std::vector<int> found_;
  std::size_t next_checked_ = 0;
  std::uint64_t present_ = 0;
  std::uint64_t near_ = 0;
  std::uint64_t came_ = 0;
};

}  // namespace nearfar::tier::attach
