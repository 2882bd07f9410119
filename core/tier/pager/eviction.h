#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tier/pager/backoff.h"
#include "tier/pager/fault_windows.h"
#include "tier/pager/forked_children.h"
#include "tier/pager/huge_pages.h"
#include "tier/pager/incoming_groups.h"
#include "tier/pager/leaving_groups.h"
#include "tier/pager/state.h"
#include "tier/pager/write_back.h"
#include "tier/tree/wake_pipe.h"

namespace nearfar::tier {

/// Makes room. A page leaves in two steps. The kernel moves it, untouched, out of its place into
/// staging memory ("limbo"); a thread that touches it then gets the same page back. When its turn
/// comes it is written to far memory if need be, and freed. No thread can write to a page in limbo,
/// so nothing is lost in between.
///
/// Where the kernel cannot move pages (before Linux 6.8), they are write-protected, copied, and
/// dropped from their place. A device that has such a page pinned writes to it all the same, and
/// what it writes after the copy is lost: the kernel does not tell of pins. It refuses to drop
/// locked memory.
class Eviction {
 public:
  struct Parts {
    WriteBack& write_back;
    HugePages& huge;
    IncomingGroups& incoming;
    FaultWindows& windows;
    ForkedChildren& children;
  };
  Eviction(PagerState& state, Parts parts);

  /// `bell` is rung when other processes of the tree should give way.
  void start(WakePipe bell) { bell_ = bell; }
  /// No other process of the tree is to be waited for, and no child looked after, while forking.
  void set_forking(bool forking) { forking_ = forking; }

  /// Charges pages that will be granted, once there is room. False, and nothing is charged, if the
  /// budget does not have them.
  [[nodiscard]] bool reserve(std::uint64_t pages, os::Waking waking = os::Waking::at_once);
  /// Evicts, or waits a little for another process of the tree to do so. False if neither helps.
  bool make_room(int& naps, os::Waking waking = os::Waking::at_once);
  /// One step of eviction: a batch into limbo, and when that is full, a batch out of it. How many
  /// pages made progress.
  std::size_t evict();
  /// One step if less than the low watermark is free. False if nothing was to be done.
  [[nodiscard]] bool evict_in_background();

  /// Takes one page into limbo that the policy has not named, unless it is held; whether it left.
  bool displace(PageNumber page);
  /// Finishes up to `most` of the pages that have been in limbo longest; how many.
  std::size_t drain(std::size_t most);
  void drain_all() {
    while (drain(state_.batch()) != 0) {
    }
  }

  /// These pages do not leave from now on. False if there are too many such ranges.
  [[nodiscard]] bool keep_near(os::Place begin, os::Place end) { return kept_.add(begin, end); }
  void release_near(os::Place begin, os::Place end) { (void)kept_.remove(begin, end); }
  [[nodiscard]] std::size_t kept_pages() const;
  [[nodiscard]] bool is_kept(PageNumber page) const {
    const os::Place at = state_.place(page);
    return (kept_.size() != 0 && kept_.contains(at, at + os::page_bytes)) ||
           state_.held.overlaps(at, at + os::page_bytes);
  }

  /// Where pages leave by being copied: whether a resident page is gone, and not swapped out
  /// either, as the program dropped it by a system call of its own. For the kernel to tell, zeros
  /// are put there if it is, and dropped again.
  [[nodiscard]] bool confirm_gone(os::Place at) const;

 private:
  [[nodiscard]] bool reap_now_and_then();
  std::size_t displace_named(std::size_t most);
  void judge(std::size_t done, std::uint64_t refused, std::uint64_t begun);
  std::size_t displace_batch(std::size_t most, std::size_t& tries);
  std::size_t displace_all(std::span<const PageNumber> chosen);
  std::size_t displace_run(PageNumber first, std::size_t count);
  std::size_t displace_group(const LeavingGroups::Group& group);
  [[nodiscard]] os::Moved stage(PageNumber first, std::size_t position, std::size_t count) const;
  [[nodiscard]] os::Moved stage_by_copy(os::Place to, os::Place from, std::size_t length) const;
  [[nodiscard]] bool own_copy(PageNumber page);
  void refuse(PageNumber page, long error);
  void pass_over(PageNumber page);
  [[nodiscard]] std::size_t drain_group();

  PagerState& state_;
  Parts parts_;
  WakePipe bell_;
  Extents kept_;  // what the program has asked to be kept near
  std::uint64_t granted_beyond_ = 0;  // not 0: so many pages may come before room is looked for
  std::uint64_t evicts_again_ = 0;  // in the background, though some may
  std::uint64_t refused_ = 0;  // times that a page could not leave
  PageNumber behind_protected_ = no_page;  // follows a page that is protected otherwise, or locked
  Backoff immovable_{100'000};  // asking pages that could not leave
  Backoff others_{1'000'000'000};  // waiting for other processes
  Backoff all_live_{20'000'000};  // asking whether processes have ended
  bool forking_ = false;
};

}  // namespace nearfar::tier
