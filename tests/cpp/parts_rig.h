#pragma once

#include <gtest/gtest.h>

#include "pager_rig.h"
#include "tier/pager/registration.h"

namespace nearfar::tier {

/// What tests write to a page: another word for each.
[[nodiscard]] constexpr std::uint64_t word_of(PageNumber page) {
  return 1000 + std::uint64_t{page};
}

/// The parts of a pager on a fake kernel, each to be called by itself.
class PartsRig : public TreeRig {
 public:
  explicit PartsRig(const RigOptions& options = {})
      : TreeRig(options), parts(region(), table(), control(), far(), kernel()) {
    PagerState& state = parts.state;
    state.faults_as = options.faults;
    if (!state.budget.join(static_cast<std::int32_t>(os::call(__NR_getpid))))
      throw std::runtime_error("no place in the tree");
    state.slots().become(state.budget.index());
    register_region(state, parts.incoming);
    state.has_huge_pages = options.huge_pages;
  }

  [[nodiscard]] State state_of(PageNumber page) { return parts.state.table.state(page); }
  [[nodiscard]] Page& entry(PageNumber page) { return parts.state.table[page]; }
  /// Makes a page resident, as zeros, or as this word if it is not 0.
  void bring_in(PageNumber page, std::uint64_t word = 0) {
    EXPECT_EQ(parts.page_in.fill({.first = page, .touched = page}).pages, 1U);
    *os::pointer<std::uint64_t>(place(page)) = word;
  }
  /// Brings a page in and lets it leave until it is far.
  void send_far(PageNumber page, std::uint64_t word) {
    bring_in(page, word);
    EXPECT_TRUE(parts.eviction.displace(page));
    parts.eviction.drain_all();
    EXPECT_EQ(state_of(page), State::far);
  }
  [[nodiscard]] std::uint64_t word(PageNumber page) {
    return *os::pointer<std::uint64_t>(place(page));
  }
  [[nodiscard]] std::uint64_t charged() { return parts.state.budget.own(); }

  Parts parts;
};

}  // namespace nearfar::tier
