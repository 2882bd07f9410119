// What the program says of ranges of its memory. Advice changes where pages are, never what is in
// them.

#include "tier/pager/pager.h"
#include "tier/pager/sizes.h"

namespace nearfar::tier {

/// Brings back what is far, a run at a time, as long as `free` pages of room are left before each.
/// What was never touched comes when it is.
void Pager::bring_back(os::Place begin, os::Place end, std::uint64_t free) {
  const PageNumber last = number(end);
  for (PageNumber page = table_.next_used(number(begin), last); page < last;) {
    std::size_t done = 1;
    if (table_.state(page) == State::limbo) {
      take_back(page);
    } else if (table_.state(page) == State::far) {
      while (done < longest_run && page + done < last &&
             table_.state(static_cast<PageNumber>(page + done)) == State::far)
        ++done;
      if (budget_.free() < free) return;
      done = fill(page, done, State::far, page);
      if (done == 0) return;
    }
    page = table_.next_used(static_cast<PageNumber>(page + done), last);
  }
}

/// Brings far pages back as long as that needs no eviction.
void Pager::will_need(os::Place begin, os::Place end) {
  bring_back(begin, end, low_watermark() + longest_run);
}

/// Brings far pages back, evicting others; what cannot come now stays when it has come.
bool Pager::keep_near(os::Place begin, os::Place end) {
  std::size_t pages = (end - begin) / os::page_bytes;
  for (std::size_t i = 0; i < wanted_near_.size(); ++i)
    pages += (wanted_near_[i].end - wanted_near_[i].begin) / os::page_bytes;
  if (pages > budget_.limit() / 2 || !wanted_near_.add(begin, end)) return false;
  bring_back(begin, end, 0);
  return true;
}

/// Evicts what is near, through limbo as always.
void Pager::cold(os::Place begin, os::Place end) {
  const PageNumber last = number(end);
  close_windows(number(begin), last);
  for (PageNumber page = table_.next_used(number(begin), last); page < last;
       page = table_.next_used(page + 1, last)) {
    if (table_.state(page) != State::near || wants_near(page)) continue;
    if (limbo_.full()) (void)drain(batch());
    leaving_.came_back(page);  // it leaves by itself, or stays if it cannot
    table_.remove(page);
    control_.add(Count::evictions, displace_run(page, 1));
  }
}

}  // namespace nearfar::tier
