#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/flat/flat_tier.h"
#include "tier/pager/advice.h"
#include "tier/pager/concurrent_copies.h"
#include "tier/pager/fault_handler.h"
#include "tier/pager/fork.h"
#include "tier/pager/parts.h"
#include "tier/pager/ranges.h"
#include "tier/pager/tree_orders.h"
#include "tier/service/pager_cpu.h"

namespace nearfar::tier {

/// Keeps a region's pages near or far: the parts of a pager put together, and what its service
/// calls. One thread at a time calls it (service.h), so it needs no lock: a thread of the program
/// that wants something of it sends the pager's thread a message. It allocates nothing.
///
/// A fault goes from FaultHandler to ReadAhead, which says what comes with the page, to PageIn,
/// which fills it and has Eviction find room. A page leaves by Eviction and WriteBack. All share
/// PagerState.
class Pager {
 public:
  Pager(Region region, PageTable table, Control& control, FarStore& far, Kernel kernel);
  /// Both tiers are addressed directly, before it starts: these are the pages' tiers, and the
  /// policy of the page table.
  void make_flat(FlatPages& pages);

  /// Opens the userfaultfds, reserves the staging memory and registers the region. Ends the process
  /// with a message if that is not possible. `bell` is rung when other processes of the tree should
  /// give way.
  void start(std::int32_t process, WakePipe bell, os::Faults faults);
  /// Tells observers outside which thread serves faults, the first or another, and where the region
  /// is described.
  void set_thread(std::size_t worker, int thread);

  /// A thread waits for the page at `at`: brings it in, and perhaps its successors, and wakes it,
  /// unless that is left to `wake` or `wake_all`. False if that cannot be done before messages have
  /// been read.
  [[nodiscard]] bool fault(os::Place at, os::Touch touch, os::Waking waking = os::Waking::at_once) {
    return faults_.handle(at, touch, waking) != FaultResult::retry;
  }
  /// A fault at `at` will be served soon.
  void prefetch(os::Place at) const {
    const PagerState& state = parts_.state;
    if (state.in_region(at)) state.table.prefetch(state.number(at));
  }
  void wake(os::Place at) const {
    uffd().wake(at / os::page_bytes * os::page_bytes, os::page_bytes);
  }
  void wake_all() { uffd().wake(base(), parts_.state.region.length); }

  // Several threads that serve a fault each: concurrent_copies.h.
  [[nodiscard]] PageCopy* begin_copy(os::Place at, os::Touch touch) {
    return copies_.begin(at, touch);
  }
  [[nodiscard]] bool copy(PageCopy& copy) const { return copies_.copy(copy); }
  void complete_copies() { copies_.complete(); }
  [[nodiscard]] InFlight& in_flight() { return copies_.in_flight(); }

  /// What system calls of the program work on, without the pager's lock.
  [[nodiscard]] HeldRanges& held() { return parts_.state.held; }
  /// Whether the program has used the page at `at` of the region, as far as can be said without the
  /// pager's lock.
  [[nodiscard]] bool is_used(os::Place at) const {
    return parts_.state.table.state(parts_.state.number(at)) != State::fresh;
  }

  // Work in the background: each does little, so that faults need not wait.
  /// Obeys what the tree was told. True while there is more to be done.
  bool obey_orders() { return !fork_.is_paused() && orders_.obey(); }
  /// Brings in some pages that are to follow one that was touched. False if there are none.
  bool continue_read_ahead() {
    return !fork_.is_paused() && !parts_.state.keeps_near && parts_.read_ahead.bring_in_more();
  }
  /// Evicts some pages if little is free. False if nothing was to be done.
  bool evict_in_background() { return parts_.eviction.evict_in_background(); }

  /// Where both tiers are addressed directly: moves pages between them.
  [[nodiscard]] FlatTier& flat() { return flat_; }
  [[nodiscard]] const FlatTier& flat() const { return flat_; }

  /// Whether all pages are ordered to be near, and to stay there.
  [[nodiscard]] bool is_to_stay_near() const;

  /// What the kernel tells of changes to the memory.
  [[nodiscard]] Remap& remap() { return parts_.remap; }
  [[nodiscard]] const Remap& remap() const { return parts_.remap; }
  /// What the library does to ranges of it.
  [[nodiscard]] Ranges& ranges() { return ranges_; }
  [[nodiscard]] Advice& advice() { return advice_; }
  [[nodiscard]] Fork& fork() { return fork_; }
  [[nodiscard]] const Fork& fork() const { return fork_; }

  [[nodiscard]] const os::Uffd& uffd() const { return parts_.state.uffd(); }
  [[nodiscard]] const os::Memory& memory() const { return parts_.state.memory(); }
  [[nodiscard]] const Budget& budget() const { return parts_.state.budget; }
  [[nodiscard]] os::Place base() const { return parts_.state.region.base; }
  /// The lowest descriptor from `from` on that the pager needs; -1 if there is none.
  [[nodiscard]] int first_owned(int from) const;

  /// Counts what the process holds outside the region.
  void sample() { faults_.sample(); }
  /// Threads have waited so long for their faults.
  void add_stall(std::uint64_t ns) { parts_.state.control.add(Count::stall_ns, ns); }
  void add_affinity_faults(std::uint64_t n) { parts_.state.control.add(Count::kept_faults, n); }
  /// Pages that have come so far beside one that was touched.
  [[nodiscard]] std::uint64_t came_ahead() const { return parts_.read_ahead.came_ahead(); }
  [[nodiscard]] PagerCpu wanted_cpu() const;

 private:
  Parts parts_;
  Ranges ranges_;
  Advice advice_;
  TreeOrders orders_;
  Fork fork_;
  FaultHandler faults_;
  ConcurrentCopies copies_;
  FlatTier flat_;
};

}  // namespace nearfar::tier
