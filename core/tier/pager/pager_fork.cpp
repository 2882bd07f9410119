// A fork. The child's memory is what the parent's was, as far as it is near; what is far, the
// child finds in the same slots, which are counted once more for it. The kernel tells the child's
// pager nothing, so that everything is agreed upon before:
//
//   pause          nothing is evicted any more, limbo is empty, the child's part of the budget is
//                  charged, every slot has one more user. The state of pages stays as it is, so
//                  that the child inherits a state that is true: faults are served, but only noted
//                  in a log that parent and child both see.
//   resume         in the parent: what the log says becomes state.
//   become_child   in the child, before all code but libc's: of the pages in the log, those that
//                  were there in time are resident. What was given back meanwhile is gone.
//   watch_as_child then a userfaultfd of its own.

#include <algorithm>

#include "tier/pager/pager.h"

namespace nearfar::tier {

using os::page_bytes;

/// Shared by parent and child, so that the child misses no page that came in while it was made.
struct Pager::ForkLog {
  static constexpr std::size_t most = (std::size_t{256} << 10U) / sizeof(PageNumber) - 4;

  std::uint64_t spare;  // pages charged beforehand, to the parent and to the child
  std::atomic<std::uint32_t> count;
  PageNumber pages[most];
};

bool Pager::prepare() {
  Children::Child* const child = children_.prepare();
  if (child == nullptr) return false;
  child->member = budget_.prepare_child();
  child->waits = child->member != nullptr;
  if (!child->waits) children_.forget(*child);
  return child->waits;
}

bool Pager::pause() {
  forking_ = children_.waiting();
  if (forking_ == nullptr && prepare()) forking_ = children_.waiting();
  if (forking_ == nullptr) return false;
  forking_->waits = false;
  streams_.stop();
  close_all_windows();
  (void)drop_all_read();  // a child does not get them
  constexpr int flags = MAP_SHARED | MAP_ANONYMOUS;
  const long log = os::map(0, sizeof(ForkLog), PROT_READ | PROT_WRITE, flags);
  if (log < 0) {
    end_child(*forking_);
    return false;
  }
  spare_ = reserve(low_watermark()) ? low_watermark() : 0;
  charge_list(*forking_);
  constexpr int most_naps = 200;  // others have given way by then, or have not more to give
  for (int naps = 0; !charge_child(false);) {
    budget_.want(budget_.own());
    if (naps < most_naps && more_room(naps)) continue;
    (void)charge_child(true);
    control_.add(Count::over_budget, budget_.own());
    break;
  }
  budget_.want(0);
  share_slots(*forking_);
  allow_fork(true);
  fork_log_ = os::pointer<ForkLog>(static_cast<os::Place>(log));
  fork_log_->spare = spare_;
  control_.add(Count::forks);
  return true;
}

/// Charges a child for what it will have: nothing in limbo, and no memory that waits for a group.
bool Pager::charge_child(bool whatever) {
  while (drain(batch()) != 0) {
  }
  (void)drop_recycled();
  return budget_.charge_child(*forking_->member, whatever);
}

/// Charges the list of the slots that a child will share, as if all pages had one.
void Pager::charge_list(Children::Child& child) {
  const auto end = static_cast<PageNumber>(table_.size());
  for (PageNumber page = table_.next_used(0, end); page < end;
       page = table_.next_used(page + 1, end))
    ++child.capacity;
  child.charged = (child.capacity * sizeof(Slot) + page_bytes - 1) / page_bytes;
  bool charged = budget_.try_charge(child.charged);
  while (!charged && evict() != 0) charged = budget_.try_charge(child.charged);
  if (charged) return;
  budget_.charge(child.charged);
  control_.add(Count::over_budget, child.charged);
}

void Pager::share_slots(Children::Child& child) {
  if (child.capacity == 0) return;
  const auto end = static_cast<PageNumber>(table_.size());
  child.shared = os::pointer<Slot>(os::reserve(child.capacity * sizeof(Slot)));
  if (child.shared == nullptr) os::fail("no memory to fork with");
  for (PageNumber page = table_.next_used(0, end); page < end;
       page = table_.next_used(page + 1, end)) {
    if (!table_[page].stored()) continue;
    slots_.share(table_[page].slot());
    child.shared[child.count++] = table_[page].slot();
  }
}

/// Threads that fault while another forks would soon take more than the budget has. What was put
/// aside for them gone, a page comes now and then only: who waits may have a lock that the fork
/// needs.
bool Pager::can_serve() const {
  if (!is_paused()) return true;
  if (fork_log_->count.load() == ForkLog::most) return false;
  return spare_ > 0 || memory_.now_ns() >= next_beyond_;
}

bool Pager::fault_while_forking(PageNumber page, os::Touch touch) {
  if (table_.state(page) == State::near) return settle(page, touch);
  use_spare();
  const std::uint32_t count = fork_log_->count.load();
  fork_log_->pages[count] = page;
  fork_log_->count.store(count + 1);  // before the page is there, and so in the child
  if (copy_in(page, 1, table_.state(page)) == 1) return true;
  fork_log_->count.store(count);
  ++spare_;
  return false;
}

/// Charges a page while nothing can be evicted: what `pause` has put aside, then beyond the limit.
void Pager::use_spare() {
  if (spare_ > 0) {
    --spare_;
  } else {
    constexpr std::uint64_t now_and_then_ns = 1'000'000;
    next_beyond_ = memory_.now_ns() + now_and_then_ns;
    budget_.charge(1);
    control_.add(Count::over_budget);
  }
}

void Pager::return_spare() {
  budget_.release(spare_);
  spare_ = 0;
}

void Pager::resume() {
  for (std::uint32_t i = 0; i < fork_log_->count.load(); ++i) {
    use(fork_log_->pages[i]);
    arrived(fork_log_->pages[i]);
  }
  os::unmap(os::place(fork_log_), sizeof(ForkLog));
  fork_log_ = nullptr;
  has_forked_ = true;
  allow_fork(false);
  Children::forked(*forking_);
  forking_ = nullptr;
  return_spare();
}

void Pager::become_child(os::Place stack, std::int32_t process) {
  Member& member = *forking_->member;
  std::uint64_t lists = 0;  // which the parent has, of all its children
  for (const Children::Child& child : children_.all()) lists += child.charged;
  children_.inherited(forking_);  // first: it may take the last descriptors to fork
  forking_ = nullptr;
  uffd_.close();
  staging_uffd_.close();
  memory_.close();
  memory_.open();
  budget_.become(member, process);
  budget_.release(lists);
  slots_.become(budget_.index());
  table_.log().become(process);
  const ForkLog* const log = fork_log_;
  spare_ = log->spare;
  fork_log_ = nullptr;
  has_forked_ = true;
  followed_ = 0;  // what was answered, the parent has answered
  bringing_back_ = false;
  const auto adopt = [&](PageNumber page) {
    if (table_.state(page) == State::near || !memory_.is_present(place(page))) return;
    use(page);
    use_spare();
    arrived(page);
  };
  for (std::uint32_t i = 0; i < log->count.load(); ++i) adopt(log->pages[i]);
  // The stack that the child came to life on may have grown since, into pages that were never used.
  constexpr os::Place around = 16 * page_bytes;
  for (os::Place at = stack - around; at < stack + page_bytes; at += page_bytes) {
    if (in_region(at)) adopt(number(at));
  }
  os::unmap(os::place(log), sizeof(ForkLog));
  return_spare();
  const auto end = static_cast<PageNumber>(table_.size());
  for (PageNumber page = table_.next_used(0, end); page < end;
       page = table_.next_used(page + 1, end)) {
    table_[page].borrowed = table_[page].stored();
    table_[page].write_protected = false;  // a child's memory is not protected
  }
}

void Pager::register_in_child() {
  discard_unwatched();
  watch();
  allow_fork(false);
}

/// What libc does in the child before us may touch far memory, which is not watched yet: there are
/// zeros instead, and what it wrote. It has cleared what ended threads had of their own, which
/// nobody misses: what is far is far again.
void Pager::discard_unwatched() {
  const auto end = static_cast<PageNumber>(table_.size());
  for (PageNumber page = table_.next_used(0, end); page < end;) {
    constexpr auto group = static_cast<PageNumber>(PageTable::group);
    const PageNumber next = std::min(end, (page / group + 1) * group);
    os::Place from = place(page);
    while (from < place(next)) {
      os::PageMap::Run runs[16];
      const std::size_t count = memory_.find_present(from, place(next), runs);
      for (std::size_t i = 0; i < count; ++i) {
        for (os::Place at = runs[i].begin; at < runs[i].end; at += page_bytes) {
          if (table_.state(number(at)) == State::far) memory_.advise(at, page_bytes, MADV_DONTNEED);
        }
      }
    }
    page = table_.next_used(next, end);
  }
}

bool Pager::reap() {
  bool any = false;
  while (Children::Child* const child = children_.ended()) {
    end_child(*child);
    any = true;
  }
  return any;
}

void Pager::end_child(Children::Child& child) {
  for (std::size_t i = 0; i < child.count; ++i) slots_.unshare(child.shared[i]);
  budget_.release(child.charged);
  budget_.end(*child.member);
  children_.forget(child);
}

/// A child that is made by a system call, past `pause`, must not take zeros for its memory: it
/// does not get this memory at all, and dies when it touches it.
void Pager::allow_fork(bool allowed) {
  const os::Place end = region_.base + region_.length;
  for (auto own = unmanaged_.gap(region_.base, end); own.begin < end;
       own = unmanaged_.gap(own.end, end))
    memory_.advise(own.begin, own.end - own.begin, allowed ? MADV_DOFORK : MADV_DONTFORK);
}

}  // namespace nearfar::tier
