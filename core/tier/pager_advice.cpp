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

/// Brings pages in one run at a time, evicting others; those never touched come when they are.
bool Pager::keep_near(os::Place begin, os::Place end) {
  std::size_t pages = (end - begin) / os::page_bytes;
  for (std::size_t i = 0; i < wanted_near_.size(); ++i)
    pages += (wanted_near_[i].end - wanted_near_[i].begin) / os::page_bytes;
  if (pages > budget_.limit() / 2 || !wanted_near_.add(begin, end)) return false;
  const PageNumber last = number(end);
  for (PageNumber page = table_.next_used(number(begin), last); page < last;) {
    std::size_t done = 1;
    if (table_.state(page) == State::limbo) {
      take_back(page);
    } else if (table_.state(page) == State::far) {
      while (done < longest_run && page + done < last &&
             table_.state(static_cast<PageNumber>(page + done)) == State::far)
        ++done;
      done = fill(page, done, State::far);
      if (done == 0) return true;  // some of it cannot be filled now; it stays when it has come
    }
    page = table_.next_used(static_cast<PageNumber>(page + done), last);
  }
  return true;
}

/// Evicts what is near, through limbo as always.
void Pager::cold(os::Place begin, os::Place end) {
  const PageNumber last = number(end);
  for (PageNumber page = table_.next_used(number(begin), last); page < last;
       page = table_.next_used(page + 1, last)) {
    if (table_.state(page) != State::near || wants_near(page)) continue;
    if (limbo_.full()) (void)drain(batch());
    table_.remove(page);  // the policy, which has not named it, forgets it
    (void)displace_run(page, 1);
  }
}

}  // namespace nearfar::tier
