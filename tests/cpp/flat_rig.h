#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "parts_rig.h"
#include "tier/flat/flat_tier.h"

namespace nearfar::tier {

/// The parts of a pager with two tiers, and what moves pages between them. The first pages that
/// come are near, as many as there is room for, the others far; each holds its word.
class FlatRig : public PartsRig {
 public:
  FlatRig(std::uint64_t limit, policy::Detector detector)
      : PartsRig({.limit = limit, .placement = "raminate", .detector = detector}) {
    PagerState& state = parts.state;
    state.flat = flat();
    state.budget.unbind();
    state.limbo = Limbo(Limbo::most);
    const bool notes = detector == policy::Detector::dirty;
    state.uffd().track(notes ? os::Tracking::writes : os::Tracking::nothing);
    flat()->belong_to(state.budget.member());
  }
  void fill(PageNumber first, PageNumber end) {
    for (PageNumber page = first; page < end; ++page) bring_in(page, word_of(page));
  }

  [[nodiscard]] policy::PageIndex dense(PageNumber page) { return parts.state.table.dense(page); }
  [[nodiscard]] policy::Tier tier(PageNumber page) { return flat()->tier(dense(page)); }
  [[nodiscard]] int node(PageNumber page) { return pages().at(place(page)).node; }
  [[nodiscard]] std::uint64_t near() { return flat()->near_pages(); }
  /// So many pages from each of these on change places.
  void exchange(PageNumber promoted, PageNumber demoted, PageNumber count = 1) {
    std::vector<policy::Exchange> exchanges;
    for (PageNumber i = 0; i < count; ++i)
      exchanges.push_back({.promote = dense(promoted + i), .demote = dense(demoted + i)});
    for (std::size_t done = 0; done < count;)
      done += mover.make_some(std::span(exchanges).subspan(done));
  }
  /// These pages are in their places with their contents.
  void expect_whole(PageNumber first, PageNumber end) {
    for (PageNumber page = first; page < end; ++page) {
      EXPECT_EQ(state_of(page), State::near) << page;
      EXPECT_EQ(word(page), word_of(page)) << page;
    }
    EXPECT_EQ(parts.state.limbo.pages(), 0U);
  }
  /// Just before the kernel moves pages for the nth time from now on.
  void before_move(unsigned nth, const std::function<void()>& happens) {
    pages().before_move = [nth, happens, moves = 0U](os::Place, os::Place) mutable {
      if (++moves == nth) happens();
    };
  }

  Mover mover{parts.state, {parts.page_in, parts.arrivals, parts.eviction}};
};

}  // namespace nearfar::tier
