#pragma once

#include <array>
#include <cstddef>

#include "tier/pager/incoming_groups.h"
#include "tier/pager/leaving_groups.h"
#include "tier/pager/state.h"
#include "tier/pager/streams.h"
#include "tier/pager/whole_groups.h"

namespace nearfar::tier {

/// Groups of 2 MiB that lie in one huge page, and leave as one. The policy names pages; where it
/// has named all of such a group, the group moves into staging memory by one call, and its memory
/// is freed as one when it has been written. A group that is hot or cold in part leaves page by
/// page, and the kernel splits it.
class HugePages {
 public:
  HugePages(PagerState& state, IncomingGroups& incoming);

  /// Whether the page's group came as one huge page and may still be one, and could leave so.
  [[nodiscard]] bool leaves_whole(PageNumber page) const {
    return state_.moves_groups() && whole_.has(page);
  }
  void mark_whole(PageNumber first) { whole_.add(first); }
  void mark_split(PageNumber first) { whole_.remove(first); }

  /// The policy has named a page of such a group. The group that leaves now, with the pages of it
  /// that were named; an empty one if none does.
  [[nodiscard]] LeavingGroups::Group name(PageNumber page) { return leaving_.name(page); }
  /// The group that has waited longest, which waits no more; an empty one if there is none.
  [[nodiscard]] LeavingGroups::Group take_oldest() { return leaving_.take_oldest(); }
  /// A page is resident by its own right again, or leaves by itself.
  void forget_named(PageNumber page) { leaving_.came_back(page); }
  /// What the policy has named and has not left is its own again.
  void let_named_stay();
  /// Whether the pages in limbo from this position on came there as one.
  [[nodiscard]] bool is_whole_in_limbo(std::size_t position) const;

  /// A page has come to its place, or has come back from limbo.
  void came(PageNumber page) {
    incoming_.mark_populated(page);
    leaving_.came_back(page);
  }

  /// A stream has brought in so many pages from this one on.
  void came_in_order(PageNumber page, std::size_t count);
  /// Makes a huge page of a group that came in order, in small pages, so that it leaves and comes
  /// as one the next time. False if there is none, or it cannot be.
  bool collapse_one();

 private:
  [[nodiscard]] bool collapse(PageNumber first);

  PagerState& state_;
  IncomingGroups& incoming_;
  WholeGroups whole_;
  LeavingGroups leaving_;
  std::array<PageNumber, Streams::most> to_collapse_{};  // one for each stream
  std::size_t next_to_collapse_ = 0;
};

/// Makes pages resident: the one place where a page enters the policy.
class Arrivals {
 public:
  Arrivals(PagerState& state, HugePages& huge) : state_(state), huge_(huge) {}

  /// A page has come to its place from far memory, or as zeros, `touched` or beside one that was.
  void arrive(PageNumber page, bool touched = true) {
    Page& entry = state_.table[page];
    if (entry.state == State::fresh) state_.budget.managed(1);
    if (entry.filled()) state_.drop_slot(entry);
    entry.written = false;
    entry.write_protected = false;
    huge_.came(page);
    state_.table.push(page, touched);
  }
  /// A page has come back from limbo to its place. The kernel has moved it without protection.
  void come_back(PageNumber page) {
    state_.limbo.remove(state_.table[page].position);
    huge_.came(page);
    state_.table[page].write_protected = false;
    state_.table.take_back(page);
  }

 private:
  PagerState& state_;
  HugePages& huge_;
};

}  // namespace nearfar::tier
