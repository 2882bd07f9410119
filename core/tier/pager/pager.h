#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tier/far/far_file.h"
#include "tier/far/packed_file.h"
#include "tier/far/slots.h"
#include "tier/os/memory.h"
#include "tier/os/uffd.h"
#include "tier/pager/empty_groups.h"
#include "tier/pager/expected_groups.h"
#include "tier/pager/extents.h"
#include "tier/pager/in_flight.h"
#include "tier/pager/leaving_groups.h"
#include "tier/pager/limbo.h"
#include "tier/pager/page_table.h"
#include "tier/pager/pending_remaps.h"
#include "tier/pager/recycled_groups.h"
#include "tier/pager/region.h"
#include "tier/pager/streams.h"
#include "tier/pager/whole_groups.h"
#include "tier/pager/windows.h"
#include "tier/pager/write_protection.h"
#include "tier/service/placement.h"
#include "tier/tree/budget.h"
#include "tier/tree/children.h"
#include "tier/tree/control.h"
#include "tier/tree/tree_bell.h"

namespace nearfar::tier {

inline constexpr const char* closed_descriptor =
    "the program closed a descriptor that its memory depends on";

/// Pages that are copied, or compared, at once at most.
inline constexpr std::size_t most_at_once = 64;

/// Copies of far pages: of some on their way in, or of some on their way out, never both. One
/// thread at a time is the pager's, and forked children have their own.
alignas(
    os::page_bytes) inline constinit unsigned char far_copies[most_at_once * os::page_bytes] = {};

/// What a pager asks of the kernel: the userfaultfd of its region, the one of its staging memory,
/// and what tells of memory.
struct Kernel {
  os::Uffd& uffd;
  os::Uffd& staging_uffd;
  os::Memory& memory;
};

/// What became of a request: refused, done, or to be asked for again once messages have been read.
enum class Outcome : std::uint8_t { no, yes, later };

/// Keeps a region's pages near or far. One thread at a time calls it (service.h), so it needs no
/// lock: whoever wants something of it sends the pager's thread a message. It allocates nothing.
///
/// A page leaves in two steps. The kernel moves it, untouched, out of its place into staging
/// memory ("limbo"); who touches it then gets the same page back. When its turn comes, it is
/// compared with its copy in the far file, written if it differs, and freed. As nobody can write
/// to a page in limbo, nothing is lost in between. A page that left without a change the last time
/// comes in write-protected (write_protection.h), and if it is still that when it leaves, there is
/// nothing to compare.
class Pager {
 public:
  Pager(Region region, PageTable table, Control& control, Slots slots, FarFile far, Kernel kernel);
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  /// Opens the userfaultfd, reserves the staging memory and watches the region. Ends the process
  /// with a message if that is not possible.
  /// `bell` is rung when other processes of the tree should give way.
  void start(std::int32_t process, TreeBell bell, os::Faults faults);

  /// Tells who looks from outside which thread serves faults, the first or another, and where the
  /// region is described.
  void set_thread(std::size_t lane, int thread);

  // What changes where pages are, what the program asks for, and forks; each is a part of its own.
  [[nodiscard]] Pager& remap() { return *this; }
  [[nodiscard]] const Pager& remap() const { return *this; }
  [[nodiscard]] Pager& advice() { return *this; }
  [[nodiscard]] Pager& fork() { return *this; }
  [[nodiscard]] const Pager& fork() const { return *this; }

  [[nodiscard]] const os::Uffd& uffd() const { return uffd_; }
  [[nodiscard]] const os::Uffd& staging_uffd() const { return staging_uffd_; }
  [[nodiscard]] const Children& children() const { return children_; }
  [[nodiscard]] int far_descriptor() const { return far_.descriptor(); }
  [[nodiscard]] const os::Memory& memory() const { return memory_; }
  [[nodiscard]] const Budget& budget() const { return budget_; }

  /// A fault at `at` will be served soon.
  void prefetch(os::Place at) const {
    if (in_region(at)) table_.prefetch(number(at));
  }
  /// Somebody waits for the page at `at`: brings it in, and perhaps its successors, and wakes.
  /// False if that cannot be done before messages have been read.
  [[nodiscard]] bool fault(os::Place at, os::Touch touch);
  // The same by several threads at once, each for its own fault: pager_flights.cpp.
  /// If all that a fault needs is a copy of a far page, and there is room: the caller is to make
  /// that, by `fly`, and then has left. Until all are over and have landed, nothing else is called
  /// but these three, and `fly` alone while others are at it. Null otherwise.
  [[nodiscard]] PageCopy* begin_copy(os::Place at, os::Touch touch);
  /// Whether the page came. Nobody is woken. If not, it is as before when it has landed, and is
  /// left to `fault`.
  [[nodiscard]] bool copy(PageCopy& copy) const { return uffd_.run(copy.copy); }
  /// Takes down what has become of those that are over, whosever they are.
  void complete_copies();
  [[nodiscard]] InFlight& in_flight() { return in_flight_; }
  [[nodiscard]] os::Place base() const { return region_.base; }
  /// For any thread: whether something may be covered.
  [[nodiscard]] bool has_unmanaged() const { return has_unmanaged_.load(); }

  /// From now on who waits is not woken by each page as it comes, but all at once by `wake_all`.
  void wake_later() { waking_ = os::Waking::later; }
  void wake_all() {
    wake_at_once();
    uffd_.wake(region_.base, region_.length);
  }
  /// Or the caller wakes who waits for the pages that it has asked for, by `wake`, which needs no
  /// lock.
  void wake_at_once() { waking_ = os::Waking::at_once; }
  void wake(os::Place at) const {
    uffd_.wake(at / os::page_bytes * os::page_bytes, os::page_bytes);
  }
  /// Whether the program has managed memory at `at`.
  [[nodiscard]] bool manages(os::Place at) const {
    return is_ours(at / os::page_bytes * os::page_bytes);
  }
  /// Whether a fault at `at` is the pager's matter.
  [[nodiscard]] bool claim(os::Place at) const { return manages(at) || has_elsewhere(at); }
  /// Whether a fault could be served now; while forking, only so many can.
  [[nodiscard]] bool can_serve() const;

  /// Follows what the tree was told since: a limit, or to keep all resident. True while there is
  /// more to be done; a call does little, so that faults need not wait.
  bool obey_orders();

  /// Brings in some pages that are to follow one that was touched; they leave if there is no room
  /// for them. False if there are none.
  bool continue_read_ahead();

  /// Evicts some pages if less than the low watermark is free. False if nothing was to be done.
  bool evict_in_background();

  // What the program does to its memory by system calls, as the kernel tells: pager_changes.cpp.
  void on_removed(os::Place begin, os::Place end);
  [[nodiscard]] std::uint64_t discard(os::Place begin, os::Place end);
  /// The whole of it, where pages leave by being copied. False if the kernel refuses.
  [[nodiscard]] bool drop(os::Place begin, os::Place end);
  void uncharge(std::uint64_t pages) { budget_.release(pages); }
  void on_unmapped(os::Place begin, os::Place end);
  void on_moved(os::Place begin, os::Place end, os::Place to);
  /// Lets the contents of what has moved follow. True while that cannot be done, before messages
  /// have been read; nothing else may be done meanwhile but that.
  bool finish();
  [[nodiscard]] bool is_pending() const { return !pending_remaps_.empty(); }

  /// Moves contents to unused pages elsewhere in the region, and leaves what may be left behind to
  /// be discarded. Not if something else covers them; later, to be asked for again as it is, if
  /// messages must be read before. `passed` pages have been moved by then, 0 at first: they are not
  /// looked at again, as a neighbour's read-ahead may have put zeros where they were.
  [[nodiscard]] Outcome move(os::Place from, os::Place to, std::size_t length, PageNumber& passed);

  /// The program will use these pages soon, or not for a while. Not to be called while forking.
  void will_need(os::Place begin, os::Place end);
  void cold(os::Place begin, os::Place end);
  /// The program wants these pages near: they come in, and do not leave until `may_leave` or until
  /// their contents are gone. False, and nothing is kept, beyond half of near memory.
  [[nodiscard]] bool keep_near(os::Place begin, os::Place end);
  void release_near(os::Place begin, os::Place end) { (void)wanted_near_.remove(begin, end); }

  /// The program puts a mapping of another kind over these pages, or takes it away again. False
  /// if there are too many of them.
  [[nodiscard]] bool cover(os::Place begin, os::Place end);
  void uncover(os::Place begin, os::Place end);

  /// Threads have waited so long for their faults.
  void add_stall(std::uint64_t ns) { control_.add(Count::stall_ns, ns); }
  /// Pages that have come so far beside one that was touched.
  [[nodiscard]] std::uint64_t came_ahead() const { return came_ahead_; }
  [[nodiscard]] Wanted wanted_cpu() const;
  void add_affinity_faults(std::uint64_t faults) { control_.add(Count::followed, faults); }

  /// Counts what the process holds outside the region.
  void sample();
  [[nodiscard]] bool is_sample_due() const { return faults_ >= next_sample_; }

  // Forking, in this order; pager_fork.cpp says how.
  /// Takes what a child needs. False if a tree, or this process, can have no more of them.
  [[nodiscard]] bool prepare();
  /// False, and nothing is paused, if `agree_to_fork` did not come before and would be false now.
  [[nodiscard]] bool pause();
  void resume();
  void become_child(os::Place stack, std::int32_t process);
  void on_removed_in_parent(os::Place begin, os::Place end);
  void register_in_child();
  [[nodiscard]] bool is_paused() const { return fork_log_ != nullptr; }
  /// Children have ended or become other programs: what they shared is ours again. False: none.
  bool reap();

 private:
  struct ForkLog;

  [[nodiscard]] PageNumber number(os::Place at) const {
    return static_cast<PageNumber>((at - region_.base) / os::page_bytes);
  }
  [[nodiscard]] os::Place place(PageNumber page) const {
    return region_.base + std::size_t{page} * os::page_bytes;
  }
  [[nodiscard]] os::Place staged(std::size_t position) const {
    return region_.staging + position * os::page_bytes;
  }

  [[nodiscard]] bool wants_near(PageNumber page) const {
    return wanted_near_.size() != 0 &&
           wanted_near_.contains(place(page), place(page) + os::page_bytes);
  }

  struct Pages {
    PageNumber first = 0;
    PageNumber last = 0;
  };
  [[nodiscard]] Pages inside(os::Place begin, os::Place end) const;
  [[nodiscard]] bool in_region(os::Place at) const {
    return at >= region_.base && at < region_.base + region_.length;
  }
  [[nodiscard]] bool is_ours(os::Place at) const {
    return in_region(at) && !unmanaged_.contains(at, at + os::page_bytes);
  }

  // Bringing in: pager.cpp.
  void open();
  void watch();
  void use(PageNumber page);
  [[nodiscard]] bool serve(PageNumber page, os::Touch touch);
  [[nodiscard]] bool bring_in(PageNumber page, os::Touch touch);
  [[nodiscard]] std::size_t follow(PageNumber page, std::size_t wanted);
  [[nodiscard]] bool bring_in_down(PageNumber page, const Streams::Run& run, os::Touch touch);
  [[nodiscard]] std::size_t fill(PageNumber page, std::size_t count, State from, PageNumber touched,
                                 os::Protect protect = os::Protect::off);
  [[nodiscard]] std::size_t copy_in(PageNumber page, std::size_t count, State from,
                                    os::Protect protect = os::Protect::off);
  [[nodiscard]] std::size_t read_ahead(PageNumber page, std::size_t wanted, State from,
                                       bool runs_on) const;
  void count_ahead(const Streams::Run& run, PageNumber page, std::size_t done, std::size_t left,
                   std::size_t pace);
  void came_ahead(std::size_t pages) {
    came_ahead_ += pages;
    control_.add(Count::read_ahead, pages);
  }
  [[nodiscard]] bool is_in(PageNumber page) const {
    const State state = page < table_.size() ? table_.state(page) : State::fresh;
    return state == State::near || state == State::limbo;
  }
  [[nodiscard]] std::size_t copy_in_mapped(PageNumber page, std::size_t count, os::Protect protect);
  [[nodiscard]] std::size_t put(PageNumber page, const void* contents, std::size_t count,
                                os::Protect protect = os::Protect::off);
  [[nodiscard]] const void* view_far(PageNumber page, std::size_t count);
  void read_far(PageNumber page, std::size_t count, unsigned char* to);
  void bring_back(os::Place begin, os::Place end, std::uint64_t free);
  [[nodiscard]] std::size_t adjacent_slots(PageNumber page, std::size_t most) const;
  void arrived(PageNumber page, bool touched = true);
  void complete(const PageCopy& flight);
  [[nodiscard]] bool settle(PageNumber page, os::Touch touch);
  void go_on(os::Place at, os::Touch touch) const;
  bool take_back(PageNumber page);
  [[nodiscard]] os::Protect protection_for(PageNumber page, os::Touch touch) const;
  [[nodiscard]] bool unprotect_for_write(PageNumber page);
  [[nodiscard]] bool add_unmanaged(os::Place begin, os::Place end);
  // Windows: pager_windows.cpp.
  void open_window(PageNumber touched);
  void expect_fresh(PageNumber first);
  void grant(Windows::Window window);
  void close_window(std::size_t i);
  void close_windows(PageNumber begin, PageNumber end);
  void close_all_windows();
  bool give_windows_back();

  // Taking out: pager_evict.cpp.
  [[nodiscard]] bool reserve(std::uint64_t pages);
  bool more_room(int& naps);
  std::size_t evict();
  std::size_t displace(std::size_t most);
  std::size_t displace_all(std::span<const PageNumber> chosen);
  std::size_t displace_run(PageNumber first, std::size_t count);
  [[nodiscard]] bool own_copy(PageNumber page);
  void refused(PageNumber page, long error);
  [[nodiscard]] os::Moved copy_to(os::Place to, os::Place from, std::size_t length) const;
  void write_staged(std::size_t position);
  [[nodiscard]] bool is_nowhere(os::Place at) const;
  std::size_t drain(std::size_t most);
  /// Pages on their way out, in the order in which they came into limbo.
  struct Leaving {
    std::array<std::size_t, most_at_once> positions;
    std::size_t count = 0;

    /// How many from the `first` on lie side by side in the staging memory.
    [[nodiscard]] std::size_t run(std::size_t first) const {
      std::size_t length = 1;
      while (first + length < count && positions[first + length] == positions[first] + length)
        ++length;
      return length;
    }
  };
  /// Pages that have left without being written, and why.
  struct Dropped {
    std::uint64_t write_protected = 0;
    std::uint64_t compared = 0;
    std::uint64_t zeros = 0;
  };
  void save(const Leaving& leaving);
  [[nodiscard]] bool is_compared(PageNumber page) const;
  void read_far_copies(const Leaving& leaving);
  [[nodiscard]] const void* far_copy(const Leaving& leaving, std::size_t i) const;
  void write_out(const Leaving& leaving);
  [[nodiscard]] bool needs_writing(PageNumber page, const void* contents, const void* far_copy);
  void release_staged(std::size_t position, std::size_t count);
  [[nodiscard]] Slot own_slot(Page& entry);
  void drop_slot(Page& entry);
  void forget(PageNumber page);
  [[nodiscard]] bool forget_contents(PageNumber page);
  [[nodiscard]] std::size_t batch() const;
  [[nodiscard]] std::uint64_t low_watermark() const;

  // Huge pages that leave as one, and come back as one: pager_whole.cpp.
  [[nodiscard]] bool moves_whole() const;
  std::size_t displace_group(const LeavingGroups::Group& group);
  void let_groups_stay();
  [[nodiscard]] bool is_whole(std::size_t position) const;
  [[nodiscard]] std::size_t drain_whole();
  [[nodiscard]] bool recycle(std::size_t position);
  bool drop_recycled();
  void drop_group_memory(os::Place memory);
  [[nodiscard]] bool comes_whole(PageNumber page) const;
  void expect_group(PageNumber from, std::size_t passed, PageNumber kept = no_page);
  [[nodiscard]] PageNumber next_whole(PageNumber from) const;
  [[nodiscard]] bool expect_further();
  void expect(PageNumber first, std::size_t passed, PageNumber kept = no_page);
  void expect_no_more(ExpectedGroups::Group& group);
  [[nodiscard]] std::size_t bring_group(PageNumber first);
  [[nodiscard]] bool read_expected();
  [[nodiscard]] bool can_hold() const;
  [[nodiscard]] bool charge_group();
  [[nodiscard]] bool hold(ExpectedGroups::Group& group);
  void drop_read(ExpectedGroups::Group& group);
  bool drop_all_read();
  bool expect_old_no_more();
  void read_group(ExpectedGroups::Group& group, std::size_t pages);
  void mark_populated(PageNumber page);
  void came_in_order(PageNumber page, std::size_t count);
  bool collapse();
  bool collapse(PageNumber first);
  [[nodiscard]] bool is_huge(os::Place at) const;

  // Orders: pager_orders.cpp.
  void follow(std::uint32_t generation);
  [[nodiscard]] std::uint64_t count_far() const;
  bool bring_back();
  void emulate(std::size_t pages) { emulate(pages, pages * os::page_bytes); }
  void emulate(std::size_t pages, std::size_t bytes);

  // Compressed far memory: pager_packed.cpp.
  void read_packed(PageNumber page, std::size_t count, unsigned char* to);
  void read_packed_copies(const Leaving& leaving);
  void write_out_packed(const Leaving& leaving);
  void pack_out(Page& entry, const void* contents);

  // Ranges: pager_range.cpp.
  [[nodiscard]] bool drop_zeros(PageNumber page);
  [[nodiscard]] Outcome move_page(PageNumber from, PageNumber to);
  [[nodiscard]] Outcome move_resident(PageNumber from, PageNumber to);

  // Changes past libc: pager_changes.cpp.
  void may_be_empty(Pages pages);
  void give_back(PageNumber group);
  void track(const PendingRemaps::Remap& remap);
  void discard_remap(const PendingRemaps::Remap& remap);
  void discard_remapped(os::Place begin, os::Place end);
  [[nodiscard]] bool fill_remapped(PageNumber page, os::Place to);
  void let_go(os::Place at);
  [[nodiscard]] bool has_elsewhere(os::Place at) const;

  // Forking: pager_fork.cpp.
  [[nodiscard]] bool fault_while_forking(PageNumber page, os::Touch touch);
  void use_spare();
  void return_spare();
  void end_child(Children::Child& child);
  void discard_unwatched();
  [[nodiscard]] bool charge_child(bool whatever);
  void charge_list(Children::Child& child);
  void share_slots(Children::Child& child);
  void allow_fork(bool allowed);

  Region region_;
  PageTable table_;
  Control& control_;
  Budget budget_;
  Slots slots_;
  FarFile far_;
  PackedFile packed_;
  Limbo limbo_;
  Streams streams_;
  std::uint64_t came_ahead_ = 0;
  Windows windows_;
  WholeGroups whole_;  // were filled by one huge page, and may still be one
  WholeGroups
      unpopulated_;  // left as one, and no page has come back: the kernel has no table for them
  // Groups that have come in order, in small pages: one for each stream.
  std::array<PageNumber, Streams::most> to_collapse_{};
  std::size_t next_to_collapse_ = 0;
  LeavingGroups leaving_;
  EmptyGroups empty_;
  WriteProtection write_protection_;
  Dropped dropped_;  // since it was last counted
  ExpectedGroups expected_;
  os::Place incoming_ = 0;  // huge pages of staging memory, in which groups come
  RecycledGroups recycled_;  // others, which groups have left
  Children children_;
  TreeBell bell_;
  os::Uffd& uffd_;  // of the region
  os::Uffd& staging_uffd_;  // apart, as the pager itself gives back what passes through there
  os::Faults faults_as_ = os::Faults::wait;
  PendingRemaps pending_remaps_;
  os::Waking waking_ = os::Waking::at_once;
  InFlight in_flight_;
  os::Memory& memory_;
  Extents wanted_near_;  // what the program has asked to be kept near
  Extents unmanaged_;  // what the program has covered with mappings that are not managed
  Extents arrived_;  // what has left the region and all of its pages have followed
  ForkLog* fork_log_ = nullptr;
  Children::Child* forking_ = nullptr;
  std::uint64_t spare_ = 0;  // pages charged for faults that must be served while forking
  std::uint64_t granted_beyond_ = 0;  // not 0: so many pages may come before room is looked for
  std::uint64_t evicts_again_ = 0;  // in the background, though some may
  std::uint64_t in_vain_until_ = 0;  // no page could leave: few are asked until then
  std::uint64_t next_beyond_ = 0;  // when another may be, without such a page
  std::atomic<bool> has_unmanaged_{false};
  bool has_forked_ = false;  // pages may be shared, and the kernel does not move those
  bool huge_ = false;  // the kernel has huge pages for those who ask
  bool again_ = false;  // something could not be done, as messages are to be read first
  unsigned in_vain_ = 0;  // windows in a row that were filled, and not with huge pages
  std::uint64_t faults_ = 0;
  std::uint64_t next_sample_ = 0;  // when there were so many
  std::uint64_t limit_ = 0;  // that limbo and streams are made for
  std::uint32_t followed_ = 0;  // generation of orders
  bool kept_ = false;  // nothing is evicted in the background
  bool bringing_back_ = false;
  PageNumber next_back_ = 0;
};

}  // namespace nearfar::tier
