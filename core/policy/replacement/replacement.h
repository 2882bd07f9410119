#pragma once

#include <cstddef>
#include <span>

#include "policy/page.h"

namespace nearfar::policy {

/// Decides which page leaves near memory next.
///
/// It is told what a runtime without help of the hardware can know, and no more: which pages
/// fault, which of those it had just decided against, and, now and then, what the access bits say.
/// *An access to a resident page is not seen.* Its time is the number of faults so far. The same
/// code serves the live pager and the simulator; it makes no system call, takes no lock (one thread
/// at a time), throws nothing and allocates nothing: the memory is the caller's. It is never
/// destroyed, and holds nothing that would have to be.
///
/// The life of a page: `fault` makes it resident. `evict` names it, which takes it out: it goes to
/// *limbo*, where it is unmapped but still lies in near memory. Touched there, it is mapped back
/// without a copy: `second_chance` makes it resident again. Otherwise the pager drops it and
/// says nothing; its next touch is a `fault`. How long it was away, in faults, a policy that cares
/// counts itself.
class Replacement {
 public:
  Replacement() = default;
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  /// The size of its record of a page, a multiple of 4.
  [[nodiscard]] virtual std::size_t bytes_per_page() const = 0;
  /// Where its records lie, before any event: `bytes_per_page` for each page that there will be,
  /// zeros at first. Beyond the highest page that came nothing is written. Called again when all of
  /// them have been copied elsewhere, as they are.
  virtual void keep_in(void* records) = 0;
  /// Where its record of a page lies, for a caller that prefetches it.
  [[nodiscard]] virtual const void* record(PageIndex page) const = 0;

  /// A page that is neither resident nor in limbo was touched and comes in, for the first time or
  /// from far memory.
  virtual void fault(PageIndex page) = 0;
  /// A page in limbo was touched before it was dropped: it is resident again.
  virtual void second_chance(PageIndex page) = 0;
  /// The pages that a scan looked at, used or not, in any order and any part of all. A page that
  /// has come in since the scan before is left out: its bit tells of the touch that brought it.
  /// Those that are not resident (any more) are passed over.
  virtual void scanned(std::span<const Scan> pages) = 0;
  /// The page is unmapped, resident or not: nothing is remembered of it.
  virtual void released(PageIndex page) = 0;
  /// The program moved a page to another address (mremap), resident or not: what was known of
  /// `from` is known of `to` now, which is not resident, and nothing of `from`.
  virtual void moved(PageIndex from, PageIndex to) = 0;
  /// The page that `evict` has named cannot leave (pinned for DMA, shared after a fork, protected):
  /// it stays resident, and is passed over until as many others have left as are resident since
  /// the first that is passed over now was refused, unless there are none. So where some can leave
  /// they are come to, and a page that cannot is named once in so many evictions.
  virtual void refused(PageIndex page) = 0;

  /// The page that leaves next, which from here on is not resident; no_page when none is.
  [[nodiscard]] virtual PageIndex evict() = 0;

  /// Pages resident. To keep them within the capacity is the caller's part: by `evict`.
  [[nodiscard]] virtual PageIndex resident() const = 0;
  [[nodiscard]] virtual bool is_resident(PageIndex page) const = 0;
  /// How many of these could not leave, and are passed over for now.
  [[nodiscard]] virtual PageIndex passed_over() const = 0;

  /// Near memory holds so many pages from now on, limbo included.
  virtual void resize(PageIndex capacity) = 0;

  /// How many scans are worth their cost while as many pages fault as near memory holds, by what
  /// the last one has found; 0: the policy ignores them.
  [[nodiscard]] virtual unsigned scans_per_turnover() const = 0;

 protected:
  ~Replacement() = default;
};

}  // namespace nearfar::policy
