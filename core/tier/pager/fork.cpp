#include "tier/pager/fork.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>

#include "tier/pager/registration.h"
#include "tier/pager/zero_pages.h"

namespace nearfar::tier {

using os::page_bytes;

/// Shared by parent and child, so that the child misses no page that came in while it was made.
struct Fork::Log {
  static constexpr std::size_t most = (std::size_t{256} << 10U) / sizeof(PageNumber) - 4;

  std::uint64_t spare;  // pages charged beforehand, to the parent and to the child
  std::atomic<std::uint32_t> count;
  PageNumber pages[most];

  [[nodiscard]] std::span<const PageNumber> all() const { return {pages, count.load()}; }
};

bool Fork::pause() {
  child_ = parts_.children.begin();
  if (child_ == nullptr) return false;
  parts_.read_ahead.stop();
  parts_.windows.close_all();
  (void)parts_.incoming.drop_all_read();  // a child does not get them
  constexpr int flags = MAP_SHARED | MAP_ANONYMOUS;
  const long log = os::map(0, sizeof(Log), PROT_READ | PROT_WRITE, flags);
  if (log < 0) {
    parts_.children.end(*child_);
    return false;
  }
  const std::uint64_t spare = state_.low_watermark();
  spare_ = parts_.eviction.reserve(spare) ? spare : 0;
  charge_list();
  charge_child();
  parts_.children.share_slots(*child_);
  allow_fork(state_, true);
  log_ = os::pointer<Log>(static_cast<os::Place>(log));
  log_->spare = spare_;
  parts_.eviction.set_forking(true);
  if (state_.flat != nullptr) state_.flat->set_forking(true);
  state_.control.add(Count::forks);
  return true;
}

/// Charges what the child will have, beyond the limit if others have not given way by then, or have
/// not more to give.
void Fork::charge_child() {
  constexpr int most_naps = 200;
  for (int naps = 0; !try_charge_child(false);) {
    state_.budget.want(state_.budget.own());
    if (naps < most_naps && parts_.eviction.make_room(naps)) continue;
    (void)try_charge_child(true);
    state_.control.add(Count::over_budget, state_.budget.own());
    break;
  }
  state_.budget.want(0);
}

/// A child has nothing in limbo, and no memory that waits for a group.
bool Fork::try_charge_child(bool whatever) {
  parts_.eviction.drain_all();
  (void)parts_.incoming.drop_recycled();
  return state_.budget.charge_child(*child_->member, whatever);
}

/// Charges the list of the slots that a child will share, as if all pages had one.
void Fork::charge_list() {
  const PageTable& table = state_.table;
  const PageNumber end = state_.end_page();
  for (PageNumber page = table.next_used(0, end); page < end; page = table.next_used(page + 1, end))
    ++child_->capacity;
  child_->charged = (child_->capacity * sizeof(Slot) + page_bytes - 1) / page_bytes;
  bool charged = state_.budget.try_charge(child_->charged);
  while (!charged && parts_.eviction.evict() != 0)
    charged = state_.budget.try_charge(child_->charged);
  if (charged) return;
  state_.budget.charge(child_->charged);
  state_.control.add(Count::over_budget, child_->charged);
}

/// Threads that fault while another forks would soon take more than the budget has. What was put
/// aside for them gone, a page comes now and then only: the thread that waits may have a lock that
/// the fork needs.
bool Fork::can_serve() const {
  if (!is_paused()) return true;
  if (log_->count.load() == Log::most) return false;
  return spare_ > 0 || state_.memory().now_ns() >= next_beyond_;
}

Filled Fork::bring_in(const Fault& fault) {
  use_spare();
  const State from = state_.table.state(fault.page);
  const std::uint32_t count = log_->count.load();
  // What came since the fork began is there, too, and is not in the page table yet.
  const auto* const logged = std::find(log_->pages, log_->pages + count, fault.page);
  const bool shown = logged == log_->pages + count && ZeroPages::is_written(state_, fault);
  log_->pages[count] = fault.page;
  log_->count.store(count + 1);  // before the page is there, and so in the child
  const Filled filled = parts_.page_in.copy_in({.first = fault.page,
                                                .from = from,
                                                .touched = fault.page,
                                                .waking = fault.waking,
                                                .there = shown});
  if (filled.pages == 1) return filled;
  log_->count.store(count);
  ++spare_;
  return filled;
}

/// Charges a page while nothing can be evicted: what `pause` has put aside, then beyond the limit.
void Fork::use_spare() {
  if (spare_ > 0) {
    --spare_;
    return;
  }
  constexpr std::uint64_t now_and_then_ns = 1'000'000;
  next_beyond_ = state_.memory().now_ns() + now_and_then_ns;
  state_.budget.charge(1);
  state_.control.add(Count::over_budget);
}

void Fork::return_spare() {
  state_.budget.release(spare_);
  spare_ = 0;
}

void Fork::resume() {
  for (const PageNumber page : log_->all()) {
    if (state_.is_in_ram(page)) {  // noted twice: it was not there any more when it was written to
      state_.budget.release(1);
      continue;
    }
    state_.use(page);
    parts_.arrivals.arrive(page);
  }
  os::unmap(os::place(log_), sizeof(Log));
  log_ = nullptr;
  parts_.eviction.set_forking(false);
  if (state_.flat != nullptr) state_.flat->set_forking(false);
  state_.has_forked = true;
  allow_fork(state_, false);
  Children::forked(*child_);
  child_ = nullptr;
  return_spare();
}

void Fork::become_child(os::Place stack, std::int32_t process) {
  Children& children = parts_.children.all();
  Member& member = *child_->member;
  std::uint64_t lists = 0;  // which the parent has, of all its children
  for (const Children::Child& child : children.all()) lists += child.charged;
  children.keep_only(child_);  // first: it may take the last descriptors to fork
  child_ = nullptr;
  state_.uffd().close();
  state_.staging_uffd().close();
  state_.memory().close();
  state_.memory().open();
  state_.budget.become(member, process);
  if (state_.flat != nullptr) state_.flat->become_child(state_.budget.member());
  state_.allocates_on = -1;  // another thread will fill pages
  state_.budget.release(lists);
  state_.slots().become(state_.budget.index());
  state_.table.log().become(process);
  const Log& log = *log_;
  spare_ = log.spare;
  log_ = nullptr;
  parts_.eviction.set_forking(false);
  state_.has_forked = true;
  parts_.orders.become_child();
  adopt_log(log, stack);
  os::unmap(os::place(&log), sizeof(Log));
  return_spare();
  borrow_slots();
}

/// A page that has come to this child without its pager is resident.
void Fork::adopt(PageNumber page) {
  if (state_.table.state(page) == State::near || !state_.memory().is_present(state_.place(page)))
    return;
  state_.use(page);
  use_spare();
  parts_.arrivals.arrive(page);
}

void Fork::adopt_log(const Log& log, os::Place stack) {
  for (const PageNumber page : log.all()) adopt(page);
  // The stack that the child came to life on may have grown since, into pages that were never used.
  constexpr os::Place around = 16 * page_bytes;
  for (os::Place at = stack - around; at < stack + page_bytes; at += page_bytes) {
    if (state_.in_region(at)) adopt(state_.number(at));
  }
}

/// All slots are the parent's, and a child's memory is not protected.
void Fork::borrow_slots() {
  PageTable& table = state_.table;
  const PageNumber end = state_.end_page();
  for (PageNumber page = table.next_used(0, end); page < end;
       page = table.next_used(page + 1, end)) {
    table[page].borrowed = table[page].stored();
    table[page].write_protected = false;
  }
}

void Fork::on_removed_in_parent(os::Place begin, os::Place end) {
  parts_.remap.uncharge(parts_.remap.discard(begin, end));
  const Pages pages = state_.pages_between(begin, end);
  if (pages.empty()) return;
  const os::Place last = state_.place(pages.last);
  for (auto own = state_.unmanaged.gap(state_.place(pages.first), last); own.begin < last;
       own = state_.unmanaged.gap(own.end, last))
    state_.memory().advise(own.begin, own.end - own.begin, MADV_DONTNEED);
}

void Fork::register_in_child() {
  discard_unregistered();
  ZeroPages::hide_all_in_child(state_);
  register_region(state_, parts_.incoming);
  allow_fork(state_, false);
}

/// What libc does in the child before us may touch far memory, which is not registered yet: there
/// are zeros instead, and what it wrote. It has cleared the data of ended threads, which no
/// thread misses: far pages are far again.
void Fork::discard_unregistered() {
  const PageNumber end = state_.end_page();
  for (PageNumber page = state_.table.next_used(0, end); page < end;) {
    constexpr auto group = static_cast<PageNumber>(PageTable::group);
    const PageNumber next = std::min(end, (page / group + 1) * group);
    discard_unregistered(page, next);
    page = state_.table.next_used(next, end);
  }
}

void Fork::discard_unregistered(PageNumber first, PageNumber last) {
  const os::Memory& memory = state_.memory();
  const os::Place end = state_.place(last);
  for (os::Place from = state_.place(first); from < end;) {
    std::array<os::PageMap::Run, 16> runs;
    const std::size_t count = memory.find_present(from, end, runs);
    for (const os::PageMap::Run& run : std::span(runs).first(count)) {
      for (os::Place at = run.begin; at < run.end; at += page_bytes)
        if (state_.table.state(state_.number(at)) == State::far)
          memory.advise(at, page_bytes, MADV_DONTNEED);
    }
  }
}

}  // namespace nearfar::tier
