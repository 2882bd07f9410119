#include "tier/pager/pager.h"

#include "tier/os/system.h"
#include "tier/pager/sizes.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

static_assert(longest_run <= most_at_once);

alignas(page_bytes) const unsigned char zeros[longest_run * page_bytes] = {};

constexpr std::size_t most_unmanaged = 4096;
constexpr std::size_t most_wanted_near = 4096;
constexpr std::size_t most_arrived = 4096;
constexpr std::uint64_t faults_between_samples = 4096;

}  // namespace

Pager::Pager(Region region, PageTable table, Control& control, Slots slots, FarFile far,
             Kernel kernel)
    : region_(region),
      table_(table),
      control_(control),
      budget_(control, slots),
      slots_(slots),
      far_(far),
      packed_(far, orders_of(control).compression),
      limbo_(limbo_pages(control.limit_pages)),
      streams_(stream_pages(control.limit_pages)),
      uffd_(kernel.uffd),
      staging_uffd_(kernel.staging_uffd),
      memory_(kernel.memory),
      wanted_near_(
          os::pointer<Extents::Extent>(os::reserve(most_wanted_near * sizeof(Extents::Extent))),
          most_wanted_near),
      unmanaged_(
          os::pointer<Extents::Extent>(os::reserve(most_unmanaged * sizeof(Extents::Extent))),
          most_unmanaged),
      arrived_(os::pointer<Extents::Extent>(os::reserve(most_arrived * sizeof(Extents::Extent))),
               most_arrived),
      limit_(control.limit_pages) {
  const std::size_t words = WholeGroups::words(table.size());
  to_collapse_.fill(no_page);
  whole_ = WholeGroups(os::pointer<std::uint64_t>(os::reserve(words * sizeof(std::uint64_t))));
  unpopulated_ =
      WholeGroups(os::pointer<std::uint64_t>(os::reserve(words * sizeof(std::uint64_t))));
}

void Pager::start(std::int32_t process, TreeBell bell, os::Faults faults) {
  bell_ = bell;
  faults_as_ = faults;
  if (!budget_.join(process)) os::fail("more than 4096 processes in one tree");
  slots_.become(budget_.index());
  table_.log().become(process);
  watch();
  allow_fork(false);
  packed_.start(control_.far_slots);
  if (!packed_.used()) far_.map(control_.far_slots);
  memory_.open();
  huge_ = memory_.has_huge_pages();
  if (memory_.merges_pages()) write_protection_.forbid();
}

void Pager::set_thread(std::size_t lane, int thread) {
  if (lane == 0) region_.pagers = {};
  region_.pagers[lane] = thread;
  if (lane != 0) return;
  budget_.member().region.store(os::place(&region_));
  budget_.member().pager_thread.store(thread);
}

void Pager::open() {
  const os::Eviction wanted = orders_of(control_).eviction;
  long opened = uffd_.open(wanted, os::Changes::followed, faults_as_);
  if (opened == 0 && uffd_.moves()) {
    opened = staging_uffd_.open_beside(uffd_, os::Eviction::move, os::Changes::unseen, faults_as_);
  }
  if (opened == -EPERM) {
    os::fail(
        "userfaultfd is not permitted to this user: sysctl vm.unprivileged_userfaultfd=1, or "
        "give access to /dev/userfaultfd; --sigbus needs neither");
  }
  if (opened == -EMFILE || opened == -ENFILE) os::fail("no descriptors left for userfaultfd");
  if (opened < 0) {
    os::fail(wanted == os::Eviction::move
                 ? "this kernel's userfaultfd cannot move pages; Linux 6.8 or newer can"
                 : "this kernel's userfaultfd can neither move nor write-protect pages; Linux 5.7 "
                   "or newer can");
  }
  if (!uffd_.moves()) memory_.open_contents();
}

void Pager::watch() {
  open();
  // Pages are moved to limbo, at its largest as the limit may grow, and to recycled groups.
  constexpr std::size_t limbo = Limbo::most * page_bytes;
  constexpr std::size_t length = limbo + RecycledGroups::bytes;
  constexpr std::size_t incoming = ExpectedGroups::most * huge_bytes;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (region_.staging == 0)
    region_.staging =
        (os::reserve(length + incoming + huge_bytes) + huge_bytes - 1) / huge_bytes * huge_bytes;
  const long staging =
      os::map(region_.staging, length + incoming, PROT_READ | PROT_WRITE, flags | MAP_FIXED);
  if (region_.staging == 0 || staging < 0)
    os::fail("no address space for the staging memory", staging);
  memory_.advise(region_.staging, length, MADV_NOHUGEPAGE);
  recycled_ = RecycledGroups(region_.staging + limbo);
  incoming_ = region_.staging + length;
  memory_.advise(incoming_, incoming, MADV_HUGEPAGE);
  memory_.advise(region_.staging, length + incoming, MADV_DONTFORK);
  // What is moved, and only that, comes from watched memory.
  long error = uffd_.moves() ? staging_uffd_.register_range(region_.staging, length) : 0;
  const os::Place end = region_.base + region_.length;
  for (auto own = unmanaged_.gap(region_.base, end); own.begin < end && error == 0;
       own = unmanaged_.gap(own.end, end))
    error = uffd_.register_range(own.begin, own.end - own.begin);
  if (error != 0) os::fail("the memory cannot be watched", error);
}

bool Pager::fault(os::Place at, os::Touch touch) {
  at = at / page_bytes * page_bytes;
  const bool ours = is_ours(at);
  if (!ours) let_go(at);
  again_ = false;
  const bool woken =
      ours && (is_paused() ? fault_while_forking(number(at), touch) : serve(number(at), touch));
  if (!woken && again_) return false;
  if (!woken) go_on(at, touch);
  if (ours && touch == os::Touch::write && table_.state(number(at)) == State::near)
    table_[number(at)].written = true;
  control_.add(Count::faults);
  if (is_paused()) return true;
  if (is_sample_due()) {
    sample();
    next_sample_ = faults_ + faults_between_samples;
  }
  ++faults_;
  return true;
}

/// Whether who waits has been woken: filling a page does it, unless the page was there.
bool Pager::serve(PageNumber page, os::Touch touch) {
  if (windows_.hold(page)) return false;  // granted since it was touched
  const State state = table_.state(page);
  if (state != State::fresh) table_.prefetch_for_policy(page);  // told when the page is there
  switch (state) {
    case State::near:
      return settle(page, touch);
    case State::limbo:
      return take_back(page);
    case State::fresh:
    case State::far:
      break;
  }
  return bring_in(page, touch);
}

void Pager::use(PageNumber page) {
  const std::size_t cost = table_.use(page);
  if (cost != 0) budget_.charge(cost);
}

bool Pager::bring_in(PageNumber page, os::Touch touch) {
  const State from = table_.state(page);
  if (from == State::fresh) open_window(page);
  if (windows_.hold(page)) return false;  // the kernel brings it in, now that it is not watched
  const Streams::Run run = streams_.wanted(page, [this](PageNumber other) { return is_in(other); });
  if (run.down) return bring_in_down(page, run, touch);
  const bool runs_on = from == State::far && run.pace >= longest_run;
  if (runs_on && expected_.find(page) != nullptr) {
    const std::size_t done = bring_group(page);
    if (done > 0) count_ahead(run, page, done, 0, run.pace);
    if (done > 0 || again_) return done > 0;
  }
  // Threads that bring their pages in themselves have nobody to do so behind them.
  const bool follows = from == State::far && faults_as_ != os::Faults::signal;
  const std::size_t at_once = follows ? run.at_once : std::min(run.pages, longest_run);
  const std::size_t count = read_ahead(page, at_once, from, runs_on);
  // Before who waits is woken: it may be there at once.
  if (runs_on) expect_group(static_cast<PageNumber>(page + count), 0);
  if (from == State::fresh && run.pages >= longest_run)
    expect_fresh(static_cast<PageNumber>((page / huge_pages + 1) * huge_pages));
  const os::Protect protect = count == 1 ? protection_for(page, touch) : os::Protect::off;
  std::size_t done = fill(page, count, from, page, protect);
  if (done == 0 && count > 1 && !again_) done = fill(page, 1, from, page);  // it left the mapping
  if (done == 0) return false;
  if (runs_on) came_in_order(page, done);
  const auto next = static_cast<PageNumber>(page + done);
  const bool into_group = runs_on && done == count && comes_whole(next);
  const bool goes_on = done == at_once || (from == State::far && done == count && is_in(next));
  count_ahead(run, page, done, goes_on && follows && !into_group ? run.pages - done : 0,
              goes_on || into_group ? run.pace : done);
  return true;
}

/// Brings in a page with those before it, of its group: the one before may come whole, or be a
/// window. Whether the page has come.
bool Pager::bring_in_down(PageNumber page, const Streams::Run& run, os::Touch touch) {
  const State from = table_.state(page);
  const std::size_t most = std::min<std::size_t>(run.pages, page % huge_pages + 1);
  std::size_t count = 1;
  while (count < most && table_.state(static_cast<PageNumber>(page - count)) == from) ++count;
  const auto first = static_cast<PageNumber>(page + 1 - count);
  const os::Protect protect = count == 1 ? protection_for(page, touch) : os::Protect::off;
  const std::size_t done = fill(first, count, from, page, protect);
  if (done == count) {
    count_ahead(run, first, count, 0, run.pace);
    return true;
  }
  came_ahead(done);
  // Another mapping may begin between them, or one was there already.
  if (again_ || count == 1 || fill(page, 1, from, page) == 0) return false;
  count_ahead(run, page, 1, 0, 1);
  return true;
}

bool Pager::continue_read_ahead() {
  if (is_paused() || kept_) return false;
  const Streams::Part part = streams_.next_part();
  if (part.count == 0) return collapse() || read_expected();
  std::size_t passed = 0;
  while (passed < part.count && is_in(static_cast<PageNumber>(part.first + passed))) ++passed;
  const auto page = static_cast<PageNumber>(part.first + passed);
  const std::size_t came = passed == part.count ? 0 : follow(page, part.count - passed);
  streams_.followed(passed + came, came);
  came_ahead(came);
  return true;
}

/// Brings in far pages from `page` on that nobody waits for, of up to `wanted`; how many.
std::size_t Pager::follow(PageNumber page, std::size_t wanted) {
  if (page >= table_.size() || table_.state(page) != State::far) return 0;
  if (comes_whole(page)) {
    expect_group(page, 0);
    return 0;
  }
  const std::size_t count = read_ahead(page, wanted, State::far, true);
  expect_group(static_cast<PageNumber>(page + count), 0);
  const std::size_t done = fill(page, count, State::far, no_page);
  came_in_order(page, done);
  return done;
}

/// How many pages from `page` on to bring in, of up to `wanted`; not into a group that comes whole,
/// where a stream `runs_on`.
std::size_t Pager::read_ahead(PageNumber page, std::size_t wanted, State from, bool runs_on) const {
  std::size_t count = 1;
  for (; count < wanted; ++count) {
    const auto next = static_cast<PageNumber>(page + count);
    if (next >= table_.size() || table_.state(next) != from) break;
    if (from == State::fresh && next % huge_pages == 0) break;  // there a window may begin
    if (runs_on && comes_whole(next)) break;
  }
  return count;
}

/// Of a run, `done` pages came in, `left` are to follow, and the next one of its stream is twice
/// `pace`.
void Pager::count_ahead(const Streams::Run& run, PageNumber page, std::size_t done,
                        std::size_t left, std::size_t pace) {
  came_ahead(done - 1);
  control_.add(Count::read_ahead_hits, streams_.brought(run, page, done, left, pace));
}

/// Makes missing pages resident, of which one was `touched` or none (`no_page`); how many, from the
/// first on. None if the program no longer has them mapped, or none was touched and there is no
/// room.
std::size_t Pager::fill(PageNumber page, std::size_t count, State from, PageNumber touched,
                        os::Protect protect) {
  const std::size_t table_pages = table_.most_use(page, count);
  const bool awaited = touched != no_page;
  constexpr std::size_t most_groups = 2;  // of a run
  if ((!awaited || count > 1) && !table_.has_room(most_groups)) return 0;
  if (!awaited && !budget_.try_charge(count + table_pages)) return 0;
  if (awaited && !reserve(count + table_pages)) {
    budget_.charge(count + table_pages);
    control_.add(Count::over_budget, count);
  }
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; ++i) used += table_.use(static_cast<PageNumber>(page + i));
  const std::size_t done = copy_in(page, count, from, protect);
  for (std::size_t i = 0; i < done; ++i) {
    const auto came = static_cast<PageNumber>(page + i);
    arrived(came, came == touched);
    if (protect == os::Protect::on) table_[came].write_protected = true;
  }
  if (protect == os::Protect::on) control_.add(Count::guarded_ins, done);
  budget_.release(count + table_pages - done - used);
  return done;
}

/// Copies far pages, or zeros for fresh ones, to their place; how many.
std::size_t Pager::copy_in(PageNumber page, std::size_t count, State from, os::Protect protect) {
  if (from == State::far && far_.mapped()) return copy_in_mapped(page, count, protect);
  const void* const contents = from == State::far ? view_far(page, count) : zeros;
  const std::size_t done = put(page, contents, count, protect);
  control_.add(from == State::far ? Count::copies_in : Count::first_touches, done);
  return done;
}

/// The same for far pages, out of the far file itself, those in adjacent slots at once. The kernel
/// tells if it cannot be read.
std::size_t Pager::copy_in_mapped(PageNumber page, std::size_t count, os::Protect protect) {
  std::size_t done = 0;
  for (bool all = true; all && done < count;) {
    const auto from = static_cast<PageNumber>(page + done);
    const Slot slot = table_[from].slot();
    const std::size_t run = adjacent_slots(from, count - done);
    emulate(run);
    const std::size_t copied = put(from, far_.at(slot), run, protect);
    done += copied;
    all = copied == run;
    if (!all) far_.expect(slot + static_cast<Slot>(run) - 1);
  }
  control_.add(Count::copies_in, done);
  return done;
}

/// Fills missing pages with these contents, and wakes who waits for them; how many.
std::size_t Pager::put(PageNumber page, const void* contents, std::size_t count,
                       os::Protect protect) {
  const os::Moved copied = uffd_.copy(place(page), contents, count * page_bytes, waking_, protect);
  again_ = again_ || copied.error == -EAGAIN;
  if (copied.error == -ENOMEM) os::fail("the system has no memory left for a near page");
  return copied.bytes / page_bytes;
}

/// The far copies of `count` pages: in place, or where they have been read to.
const void* Pager::view_far(PageNumber page, std::size_t count) {
  const Page& entry = table_[page];
  if (count == 1 && packed_.used() && !entry.filled()) {
    const PackedFile::View there = packed_.view(slots_.chunks(), entry.slot(), far_copies);
    emulate(1, there.bytes);
    return there.page;
  }
  read_far(page, count, far_copies);
  return far_copies;
}

/// Reads the far copies of `count` pages, those in adjacent slots at once.
void Pager::read_far(PageNumber page, std::size_t count, unsigned char* to) {
  if (packed_.used()) {
    read_packed(page, count, to);
    return;
  }
  for (std::size_t i = 0; i < count;) {
    const auto first = static_cast<PageNumber>(page + i);
    const std::size_t run = adjacent_slots(first, count - i);
    far_.read(table_[first].slot(), to + i * page_bytes, run);
    emulate(run);
    i += run;
  }
}

/// How many far pages from `page` on, `most` at most, lie side by side in the far file, too.
std::size_t Pager::adjacent_slots(PageNumber page, std::size_t most) const {
  const Slot first = table_[page].slot();
  std::size_t run = 1;
  while (run < most && table_[static_cast<PageNumber>(page + run)].slot() == first + run) ++run;
  return run;
}

void Pager::arrived(PageNumber page, bool touched) {
  if (table_[page].state == State::fresh) budget_.managed(1);
  if (table_[page].filled()) drop_slot(table_[page]);
  table_[page].written = false;
  table_[page].write_protected = false;
  mark_populated(page);
  leaving_.came_back(page);
  table_.push(page, touched);
}

/// A fault on a resident page: it is write_protected, and written to. Or two threads touched it at
/// once, and it is there. Or the program has given it back by a system call of its own; then it
/// reads as zeros.
bool Pager::settle(PageNumber page, os::Touch touch) {
  if (table_[page].write_protected && touch == os::Touch::write) return unprotect_for_write(page);
  if (put(page, zeros, 1) == 0) return false;
  table_[page].write_protected = false;
  drop_slot(table_[page]);
  return true;
}

/// Who waits touches the page again. What is there may be protected though it is not
/// write_protected: it was when the program gave it back (MADV_FREE), or when the kernel swapped it
/// out, and moved it as it is.
void Pager::go_on(os::Place at, os::Touch touch) const {
  const bool unprotects = touch == os::Touch::write && uffd_.protects();
  const os::Waking waking = in_region(at) ? waking_ : os::Waking::at_once;
  const bool done = unprotects && uffd_.unprotect(at, page_bytes, waking) == 0;
  if (!done && waking == os::Waking::at_once) uffd_.wake(at, page_bytes);
}

/// Whether a page that comes in for a touch is write_protected: if it last left as it had come.
os::Protect Pager::protection_for(PageNumber page, os::Touch touch) const {
  const Page& entry = table_[page];
  // A system call that writes to a write_protected page would fail where faults are signals.
  const bool can = uffd_.moves() && uffd_.protects() && faults_as_ == os::Faults::wait;
  const bool may =
      touch == os::Touch::read && entry.state == State::far && entry.unchanged && entry.stored();
  return can && may && write_protection_.pay() ? os::Protect::on : os::Protect::off;
}

/// Lets writes to a write_protected page go on; whether who waits has been woken.
bool Pager::unprotect_for_write(PageNumber page) {
  const long error = uffd_.unprotect(place(page), page_bytes, waking_);
  again_ = again_ || error == -EAGAIN;
  if (error == -EAGAIN) return false;
  table_[page].write_protected = false;
  table_[page].unchanged = false;
  write_protection_.broken();
  control_.add(Count::guards_broken);
  return error == 0;
}

bool Pager::take_back(PageNumber page) {
  const std::size_t position = table_[page].position;
  const os::Moved moved = uffd_.move(place(page), staged(position), page_bytes, waking_);
  // The kernel moves pages only between writable mappings; the program may have protected this one.
  if (moved.bytes == 0 && put(page, os::pointer(staged(position)), 1) == 0) return false;
  if (moved.error != 0) memory_.advise(staged(position), page_bytes, MADV_DONTNEED);
  control_.add(Count::second_chances);
  limbo_.remove(position);
  mark_populated(page);
  leaving_.came_back(page);
  table_[page].write_protected = false;  // the kernel has moved it without protection
  table_.take_back(page);
  return true;
}

void Pager::sample() {
  close_all_windows();  // their charge says nothing of what is in RAM
  const std::uint64_t all = memory_.anonymous_pages();
  const std::uint64_t own = budget_.own();
  budget_.unmanaged(all > own ? all - own : 0);
}

}  // namespace nearfar::tier
