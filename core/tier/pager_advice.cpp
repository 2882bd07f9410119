// What the program says of ranges of its memory. Advice changes where pages are, never what is in
// them.

#include "tier/pager.h"
#include "tier/sizes.h"

namespace nearfar::tier {

/// Brings far pages back as long as that needs no eviction.
void Pager::will_need(os::Place begin, os::Place end) {
  const PageNumber last = number(end);
  for (PageNumber page = table_.next_used(number(begin), last); page < last;) {
    std::size_t run = 1;
    if (table_.state(page) == State::limbo) {
      take_back(page);
    } else if (table_.state(page) == State::far) {
      while (run < longest_run && page + run < last &&
             table_.state(static_cast<PageNumber>(page + run)) == State::far)
        ++run;
      if (budget_.free() < low_watermark() + longest_run) return;
      if (fill(page, run, State::far) == 0) return;
    }
    page = table_.next_used(static_cast<PageNumber>(page + run), last);
  }
}

/// Evicts what is near, through limbo as always.
void Pager::cold(os::Place begin, os::Place end) {
  const PageNumber last = number(end);
  for (PageNumber page = table_.next_used(number(begin), last); page < last;
       page = table_.next_used(page + 1, last)) {
    if (table_.state(page) != State::near) continue;
    if (limbo_.full()) (void)drain(batch());
    table_.remove(page);  // the policy, which has not named it, forgets it
    (void)displace_run(page, 1);
  }
}

}  // namespace nearfar::tier
