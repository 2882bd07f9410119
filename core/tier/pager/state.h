#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/far/far_store.h"
#include "tier/flat/flat_pages.h"
#include "tier/os/memory.h"
#include "tier/os/uffd.h"
#include "tier/pager/empty_groups.h"
#include "tier/pager/extents.h"
#include "tier/pager/held_ranges.h"
#include "tier/pager/limbo.h"
#include "tier/pager/page_table.h"
#include "tier/pager/region.h"
#include "tier/pager/windows.h"
#include "tier/tree/budget.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

inline constexpr const char* closed_descriptor =
    "the program closed a descriptor that its memory depends on";

/// What a pager asks of the kernel: the userfaultfd of its region, the one of its staging memory,
/// which is apart because the pager itself drops what passes through there, and what tells of
/// memory.
struct Kernel {
  os::Uffd& uffd;
  os::Uffd& staging_uffd;
  os::Memory& memory;
};

/// What became of a request: refused, done, or to be asked for again once messages have been read.
enum class Outcome : std::uint8_t { no, yes, later };

/// Pages [first, last).
struct Pages {
  PageNumber first = 0;
  PageNumber last = 0;

  [[nodiscard]] bool empty() const { return first == last; }
};

/// The one thing that all parts of a pager share: its region, what is known of each page, the
/// budget, the kernel's interfaces and the counters. One thread at a time uses it, but for
/// `has_unmanaged` and `held`.
struct PagerState {
  PagerState(Region region, PageTable table, Control& control, FarStore& store, Kernel kernel);
  PagerState(const PagerState&) = delete;
  PagerState& operator=(const PagerState&) = delete;

  Region region;
  PageTable table;
  Control& control;
  Budget budget;
  FarStore& store;  ///< of far pages; FarPages reads and writes it
  Kernel kernel;
  Limbo limbo;
  Extents unmanaged;  ///< ranges of the region that the program has covered with other mappings
  std::atomic<bool> has_unmanaged{false};
  HeldRanges held;  ///< by system calls of the program
  EmptyGroups empty_groups;
  FlatPages* flat = nullptr;  ///< where both tiers are addressed directly; else far is copied in
  int allocates_on = -1;     ///< the node that the thread's pages come from; below 0: any
  std::uint64_t faults = 0;  ///< served so far, but for those while the process forked
  os::Faults faults_as = os::Faults::wait;
  bool has_forked = false;  ///< pages may be shared, and the kernel does not move those
  bool has_huge_pages = false;  ///< the kernel gives huge pages to those that ask
  bool shows_zeros = false;  ///< fresh pages may be there as the kernel's page of zeros
  bool keeps_near = false;  ///< an order: nothing is evicted in the background

  [[nodiscard]] Slots& slots() const { return store.slots(); }
  [[nodiscard]] os::Uffd& uffd() const { return kernel.uffd; }
  [[nodiscard]] os::Uffd& staging_uffd() const { return kernel.staging_uffd; }
  [[nodiscard]] os::Memory& memory() const { return kernel.memory; }

  [[nodiscard]] PageNumber number(os::Place at) const {
    return static_cast<PageNumber>((at - region.base) / os::page_bytes);
  }
  [[nodiscard]] os::Place place(PageNumber page) const {
    return region.base + std::size_t{page} * os::page_bytes;
  }
  /// Where in staging memory a position of limbo lies.
  [[nodiscard]] os::Place staged(std::size_t position) const {
    return region.staging + position * os::page_bytes;
  }
  [[nodiscard]] PageNumber end_page() const { return static_cast<PageNumber>(table.size()); }
  [[nodiscard]] bool in_region(os::Place at) const {
    return at >= region.base && at < region.base + region.length;
  }
  /// Whether the page at `at`, a multiple of a page's size, is the pager's.
  [[nodiscard]] bool is_managed(os::Place at) const {
    return in_region(at) && !unmanaged.contains(at, at + os::page_bytes);
  }
  /// The pages of the region between two addresses that may be anywhere.
  [[nodiscard]] Pages pages_between(os::Place begin, os::Place end) const;
  /// Whether the page lies in RAM: in its place or in limbo.
  [[nodiscard]] bool is_in_ram(PageNumber page) const {
    const State found = page < table.size() ? table.state(page) : State::fresh;
    return found == State::near || found == State::limbo;
  }

  /// Whether groups of 2 MiB leave and come back as one: the kernel moves pages, and staging memory
  /// has room for a group beside others.
  [[nodiscard]] bool moves_groups() const {
    return uffd().moves() && limbo.capacity() >= 2 * huge_pages;
  }
  /// How many pages go a step at a time: so few where limbo is small that some of it stays free.
  [[nodiscard]] std::size_t batch() const;
  /// Below so many free pages, eviction in the background begins.
  [[nodiscard]] std::uint64_t low_watermark() const;

  /// Must come before a page's entry is written; charges what the table then takes.
  void use(PageNumber page) {
    const std::size_t cost = table.use(page);
    if (cost != 0) budget.charge(cost);
  }
  /// Notes that the program has another mapping there. False if there are too many such ranges.
  [[nodiscard]] bool add_unmanaged(os::Place begin, os::Place end) {
    has_unmanaged.store(true);
    return unmanaged.add(begin, end);
  }
  /// Pages side by side have been taken to the next positions of limbo.
  void put_in_limbo(PageNumber first, std::size_t count);
  /// The kernel would not take a page out of its place, for this reason. Forgets the page if the
  /// program has dropped it by a system call of its own; whether it has.
  [[nodiscard]] bool discard_dropped(PageNumber page, long error);
  /// Frees staging memory side by side, whose pages have left it.
  void release_staged(std::size_t position, std::size_t count);
  /// Pages that the pager's thread fills from now on lie in that tier. Where both are addressed
  /// directly; one thread fills pages there.
  void allocate_in(policy::Tier tier) {
    const FlatControl& control = flat->control();
    const int node = tier == policy::Tier::near ? control.near_node : control.far_node;
    if (node == allocates_on) return;
    memory().prefer_node(node);
    allocates_on = node;
  }
  /// The page has no copy in far memory any more.
  void drop_slot(Page& entry) { store.discard(entry); }
  /// Forgets a page's contents, wherever they are. Returns whether the page in its place is still
  /// charged; what lies there is the caller's matter.
  [[nodiscard]] bool discard(PageNumber page);
  /// The same, and nothing of it stays charged.
  void discard_and_uncharge(PageNumber page) {
    if (discard(page)) budget.release(1);
  }
  /// Pages of these groups are used no more: gives back the table's memory of groups that have been
  /// unused for long, unless a window holds them.
  void release_unused_groups(Pages pages, const Windows& windows);

 private:
  void release_group(PageNumber group, const Windows& windows);
};

}  // namespace nearfar::tier
