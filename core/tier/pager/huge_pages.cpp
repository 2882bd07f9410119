#include "tier/pager/huge_pages.h"

#include <utility>

namespace nearfar::tier {

HugePages::HugePages(PagerState& state, IncomingGroups& incoming)
    : state_(state), incoming_(incoming), whole_(reserve_groups(state.table.size())) {
  to_collapse_.fill(no_page);
}

void HugePages::let_named_stay() {
  for (LeavingGroups::Group group = leaving_.take_oldest(); group.first != no_page;
       group = leaving_.take_oldest()) {
    for (PageNumber page = group.first; page < group.first + huge_pages; ++page)
      if (group.has(page) && state_.table.state(page) == State::near) state_.table.refuse(page);
  }
}

bool HugePages::is_whole_in_limbo(std::size_t position) const {
  const Limbo& limbo = state_.limbo;
  if (!state_.moves_groups() || position % huge_pages != 0 || position >= limbo.capacity())
    return false;
  const PageNumber first = limbo.at(position);
  if (first == no_page || first % huge_pages != 0) return false;
  for (std::size_t i = 1; i < huge_pages; ++i)
    if (limbo.at(position + i) != first + i) return false;
  return true;
}

void HugePages::came_in_order(PageNumber page, std::size_t count) {
  const std::size_t end = (page + count) / huge_pages * huge_pages;
  if (end <= page || end < huge_pages || !state_.moves_groups()) return;
  to_collapse_[next_to_collapse_++ % to_collapse_.size()] =
      static_cast<PageNumber>(end - huge_pages);
}

bool HugePages::collapse_one() {
  for (PageNumber& group : to_collapse_)
    if (group != no_page) return collapse(std::exchange(group, no_page));
  return false;
}

bool HugePages::collapse(PageNumber first) {
  if (!state_.has_huge_pages || state_.has_forked || whole_.has(first)) return false;
  const auto last = static_cast<PageNumber>(first + huge_pages);
  for (PageNumber page = first; page < last; ++page)
    if (state_.table.state(page) != State::near) return false;
  const os::Place begin = state_.place(first);
  if (state_.unmanaged.overlaps(begin, begin + huge_bytes) || !state_.budget.try_charge(huge_pages))
    return false;
  if (state_.uffd().protects() &&
      state_.uffd().unprotect(begin, huge_bytes, os::Waking::at_once) == 0)
    for (PageNumber page = first; page < last; ++page) state_.table[page].write_protected = false;
  constexpr int madv_collapse = 25;  // since Linux 6.1, which not all headers know
  const os::Memory& memory = state_.memory();
  memory.advise(begin, huge_bytes, MADV_HUGEPAGE);
  const bool done = memory.advise(begin, huge_bytes, madv_collapse) == 0;
  memory.advise(begin, huge_bytes, MADV_NOHUGEPAGE);
  state_.budget.release(huge_pages);
  if (!done) return false;
  whole_.add(first);
  state_.control.add(Count::collapsed);
  return true;
}

}  // namespace nearfar::tier
