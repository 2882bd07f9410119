#include "policy/placement/grouped.h"

#include <algorithm>
#include <ranges>

namespace nearfar::policy {
namespace {

/// The pages that come near, and those that leave, each in order, as far as possible in pairs.
void put_in_order(std::span<Exchange> exchanges) {
  std::ranges::sort(exchanges | std::views::transform(&Exchange::promote));
  std::ranges::sort(exchanges | std::views::transform(&Exchange::demote));
}

constexpr PageIndex group_of(PageIndex page) { return page / GroupedPlacement::group; }

/// Pages of those groups that have a page in a list, in order; such as `fits` tells.
template <class List, class Fits>
class Beside {
 public:
  Beside(const List& list, const Fits& fits) : list_(list), fits_(fits) {}

  [[nodiscard]] PageIndex next() {
    while (at_ < list_.size()) {
      const PageIndex first = group_of(list_[at_]) * GroupedPlacement::group;
      for (; offset_ < GroupedPlacement::group; ++offset_)
        if (fits_(first + offset_)) return first + offset_++;
      offset_ = 0;
      while (at_ < list_.size() && group_of(list_[at_]) == group_of(first)) ++at_;
    }
    return no_page;
  }

 private:
  List list_;
  Fits fits_;
  std::size_t at_ = 0;
  PageIndex offset_ = 0;
};

}  // namespace

void GroupedPlacement::scanned(std::span<const Scan> pages) {
  told_ = told_ || !pages.empty();
  for (const Scan& scan : pages) {
    GroupMark& mark = at(scan.page);
    mark.seen = true;
    mark.used = mark.used || scan.accessed;
  }
  policy_.scanned(pages);
}

std::size_t GroupedPlacement::decide(std::span<Exchange> exchanges) {
  const std::size_t count = policy_.decide(exchanges);
  put_in_order(exchanges.first(count));
  std::ranges::fill(exchanges.subspan(count), Exchange{});
  const Named named = note(exchanges.first(count));
  const Named all = take_along(exchanges, named);
  if (told_ || count != 0) forget();
  const std::size_t most = std::max(all.promoted, all.demoted);
  if (all.promoted != named.promoted) put_in_order(exchanges.first(most));
  return most;
}

GroupedPlacement::Named GroupedPlacement::note(std::span<const Exchange> exchanges) {
  Named named;
  for (const Exchange& exchange : exchanges) {
    if (exchange.promote != no_page) {
      GroupMark& mark = at(exchange.promote);
      mark.wanted = mark.named = true;
      mark.taken_along = false;
      ++named.promoted;
    }
    if (exchange.demote != no_page) {
      GroupMark& mark = at(exchange.demote);
      mark.wanted = false;
      mark.named = true;
      ++named.demoted;
    }
  }
  return named;
}

/// Whether the policy wants more than half of a group.
bool GroupedPlacement::is_wanted(PageIndex first) {
  PageIndex count = 0;
  for (PageIndex page = first; page < std::min(first + group, end()); ++page) {
    const GroupMark& mark = at(page);
    count += mark.wanted && (mark.near || mark.named) ? 1 : 0;
  }
  return count > group / 2;
}

GroupedPlacement::Named GroupedPlacement::take_along(std::span<Exchange> exchanges, Named named) {
  PageIndex known_group = no_page;
  bool whole = false;
  const auto comes_along = [&](PageIndex page) {
    if (group_of(page) != known_group) {
      known_group = group_of(page);
      whole = is_wanted(known_group * group);
    }
    if (!whole || page >= end()) return false;
    const GroupMark& mark = at(page);
    return mark.known && !mark.near && !mark.named && !mark.taken_along;
  };
  const auto makes_room = [&](PageIndex page) {
    if (page >= end()) return false;
    const GroupMark& mark = at(page);
    return mark.near && !mark.named && !mark.wanted && mark.seen && !mark.used;
  };
  const std::span<const Exchange> decided =
      exchanges.first(std::max(named.promoted, named.demoted));
  Beside hot(decided.first(named.promoted) | std::views::transform(&Exchange::promote),
             comes_along);
  Beside idle(decided.first(named.demoted) | std::views::transform(&Exchange::demote), makes_room);
  Named all = named;
  std::size_t free = room() + named.demoted;
  free -= std::min(free, named.promoted);
  while (std::max(all.promoted, all.demoted) < exchanges.size()) {
    const PageIndex page = hot.next();
    if (page == no_page) break;
    if (free != 0) {
      --free;
    } else {
      const PageIndex leaves = idle.next();
      if (leaves == no_page) break;
      exchanges[all.demoted++].demote = leaves;
    }
    exchanges[all.promoted++].promote = page;
    at(page).taken_along = true;
  }
  return all;
}

void GroupedPlacement::forget() {
  told_ = false;
  for (PageIndex page = 0; page < end(); ++page) {
    GroupMark& mark = at(page);
    mark.named = mark.seen = mark.used = false;
  }
}

}  // namespace nearfar::policy
