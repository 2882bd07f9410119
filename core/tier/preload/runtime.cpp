#include "tier/preload/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "policy/replacement/registry.h"
#include "tier/lock.h"
#include "tier/orders.h"
#include "tier/preload/sigbus.h"

namespace nearfar::tier::preload {
namespace {

using os::page_bytes;

constexpr std::size_t gib = std::size_t{1} << 30U;
constexpr std::size_t largest_region = 1024 * gib;
constexpr std::size_t smallest_region = 4 * gib;
constexpr std::size_t most_free_ranges = std::size_t{1} << 16U;

/// Parts of a mapping that were touched apart from each other stay apart for ever, as the kernel
/// keeps lists of their own of them, and a process may have 65530. One touch before there are
/// parts makes the list that all will share.
void join_parts(os::Place at, std::size_t length) {
  if (os::protect(at, length, PROT_READ | PROT_WRITE) == 0) {
    *os::pointer<volatile char>(at) = 0;
    os::advise(at, page_bytes, MADV_DONTNEED);
  }
  os::protect(at, length, PROT_NONE);
}

/// Addresses that nothing else uses, as many as the process may have.
std::size_t reserve_region(os::Place& base) {
  for (std::size_t length = largest_region; length >= smallest_region; length /= 2) {
    base = os::reserve(length, PROT_NONE);
    if (base == 0) continue;
    // Whole alignment units, so that what is taken from it can be aligned.
    const os::Place aligned = (base + gib - 1) / gib * gib;
    const std::size_t inside = length - gib;
    os::advise(aligned, inside, MADV_NOHUGEPAGE);
    join_parts(aligned, inside);
    base = aligned;
    return inside;
  }
  os::fail("no address space (ulimit -v): 4 GiB are needed");
}

template <typename T>
T* reserve_array(std::size_t count) {
  const os::Place at = os::reserve(count * sizeof(T));
  if (at == 0) os::fail("no address space for the page table");
  return os::pointer<T>(at);
}

/// What the pages of a tree are replaced by, with room for what it keeps of so many.
policy::Replacement& make_policy(const Control& control, std::size_t pages) {
  static policy::ReplacementStorage storage;
  const auto all = policy::replacements();
  if (control.policy >= all.size()) os::fail("the launcher is of another version");
  const std::uint64_t near = std::max<std::uint64_t>(1, control.limit_pages);
  const auto most = static_cast<std::uint64_t>(policy::most_pages);
  policy::Replacement& policy =
      all[control.policy].make(storage, static_cast<policy::PageIndex>(std::min(near, most)));
  policy.keep_in(reserve_array<std::byte>(pages * policy.bytes_per_page()));
  return policy;
}

/// None where the tree's far memory is not compressed.
Chunks make_chunks(Control& control, int file) {
  if (orders_of(control).compression == Compression::none) return {};
  const os::Place begin = os::place(&control);
  const os::Place behind_users = begin + Control::bytes + control.far_slots * sizeof(Slots::Users);
  auto& totals = *os::pointer<Chunks::Totals>(begin + Chunks::Totals::offset);
  return {control, totals, os::pointer<Chunks::State>(behind_users), file};
}

void open_log(int process, int descriptor, FaultLog& log) {
  const int file = os::open_of(process, descriptor);
  const long bytes = file < 0 ? file : os::call(__NR_lseek, file, 0, SEEK_END);
  if (bytes < 0) os::fail("the file that faults are recorded in cannot be opened", bytes);
  const auto length = static_cast<std::size_t>(bytes);
  const long at = os::map(0, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file);
  if (at < 0) os::fail("the file that faults are recorded in cannot be mapped", at);
  os::call(__NR_close, file);
  log = FaultLog(os::pointer<FaultLog::Head>(static_cast<os::Place>(at)), length);
}

/// Room for something that is made when it is first needed, and never destroyed: threads use it
/// until the process ends.
template <typename T>
union Storage {
  T value;
  constexpr Storage() {}
  ~Storage() {}
};
Storage<Pager> pager;
Storage<Service> service;
Storage<Space> space;
Storage<Runtime> started;

Runtime* start() {
  Launch found;
  if (!find_launch(found)) return nullptr;
  const Launch launch = open_launch(found);
  const bool first = launch.process == os::call(__NR_getpid);
  Control& control = map_control(launch.control);
  if (!first) os::call(__NR_close, launch.control);
  os::Place base = 0;
  const std::size_t length = reserve_region(base);
  const std::size_t pages = length / page_bytes;
  const std::size_t groups = pages / PageTable::group;
  auto* const entries = reserve_array<Page>(pages);
  const PageTable::Groups of_groups{reserve_array<std::uint32_t>(groups),
                                    reserve_array<std::uint32_t>(groups)};
  PageTable table(entries, of_groups, pages, make_policy(control, pages), control.limit_pages);
  if (control.fault_log != 0) open_log(launch.process, control.fault_log, table.log());
  auto* const users = os::pointer<Slots::Users>(os::place(&control) + Control::bytes);
  const auto file = FarFile(launch.far);
  const Slots slots(control, users, make_chunks(control, launch.far));
  const Region region{.base = base,
                      .length = length,
                      .pages = os::place(entries),
                      .groups = os::place(of_groups.rank_plus_one)};
  std::construct_at(&pager.value, region, table, control, slots, file);
  std::construct_at(&service.value, pager.value, TreeBell(launch.bell),
                    first ? launch.control : -1);
  const Extents free(reserve_array<Extents::Extent>(most_free_ranges), most_free_ranges);
  std::construct_at(&space.value, base, length, free, service.value);
  if (launch.sigbus != 0) serve_faults_by_signal(service.value);
  pager.value.start(os::number_in_proc(), TreeBell(launch.bell),
                    launch.sigbus != 0 ? os::Faults::signal : os::Faults::wait);
  service.value.start();
  return std::construct_at(&started.value, pager.value, service.value, space.value, control,
                           launch);
}

}  // namespace

Runtime* runtime() {
  enum : std::uint32_t { unknown, managed, not_managed };
  static std::atomic<std::uint32_t> state{unknown};
  static Lock starting;
  if (state.load(std::memory_order_acquire) == unknown) {
    const os::SignalsBlocked blocked;
    const std::lock_guard guard(starting);
    if (state.load(std::memory_order_acquire) == unknown)
      state.store(start() == nullptr ? not_managed : managed, std::memory_order_release);
  }
  return state.load(std::memory_order_acquire) == managed ? &started.value : nullptr;
}

}  // namespace nearfar::tier::preload
