#include "tier/pager/advice.h"

#include "tier/pager/sizes.h"

namespace nearfar::tier {

void Advice::will_need(os::Place begin, os::Place end) {
  page_in_.bring_back(begin, end, state_.low_watermark() + longest_run);
}

bool Advice::keep_near(os::Place begin, os::Place end) {
  const std::size_t pages = (end - begin) / os::page_bytes + eviction_.kept_pages();
  if (pages > state_.budget.limit() / 2 || !eviction_.keep_near(begin, end)) return false;
  page_in_.bring_back(begin, end, 0);
  return true;
}

void Advice::cold(os::Place begin, os::Place end) {
  const PageTable& table = state_.table;
  const PageNumber last = state_.number(end);
  windows_.close(state_.number(begin), last);
  for (PageNumber page = table.next_used(state_.number(begin), last); page < last;
       page = table.next_used(page + 1, last)) {
    if (table.state(page) != State::near || eviction_.is_kept(page)) continue;
    huge_.forget_named(page);  // it leaves by itself, or stays if it cannot
    eviction_.displace(page);
  }
}

}  // namespace nearfar::tier
