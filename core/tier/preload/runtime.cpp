#include "tier/preload/runtime.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "policy/registry.h"
#include "tier/far/far_stores.h"
#include "tier/pager/extents.h"
#include "tier/preload/instrumentation.h"
#include "tier/preload/rewriting.h"
#include "tier/preload/sigbus.h"
#include "tier/service/lock.h"
#include "tier/tree/orders.h"

namespace nearfar::tier::preload {
namespace {

using os::page_bytes;

constexpr std::size_t gib = std::size_t{1} << 30U;
/// Programs reserve terabytes of addresses, of which they use a little here and there: as many as
/// numbers of pages can tell apart.
constexpr std::size_t largest_region = 16 * 1024 * gib;
constexpr std::size_t smallest_region = 4 * gib;
constexpr std::size_t most_free_ranges = std::size_t{1} << 16U;

/// Addresses that nothing else uses, and what is kept of them.
struct Room {
  os::Place base = 0;
  std::size_t length = 0;
  Page* entries = nullptr;
  PageTable::Groups groups{};
  std::byte* records = nullptr;  ///< the policy's
  Extents free;  ///< of the addresses: none yet

  [[nodiscard]] std::size_t pages() const { return length / page_bytes; }
};

/// Arrays that lie behind each other, on pages of their own.
class Arrays {
 public:
  explicit Arrays(os::Place at) : at_(at) {}

  template <typename T>
  T* add(std::size_t count) {
    T* const array = os::pointer<T>(at_);
    at_ += (count * sizeof(T) + page_bytes - 1) / page_bytes * page_bytes;
    return array;
  }
  [[nodiscard]] os::Place end() const { return at_; }

 private:
  os::Place at_;
};

/// What is kept of so many bytes, from `at` on; where it ends.
os::Place lay_out(Room& room, os::Place at, std::size_t length, std::size_t record_bytes) {
  Arrays arrays(at);
  room.length = length;
  const std::size_t ranks = PageTable::ranks(room.pages());
  room.entries = arrays.add<Page>(room.pages());
  room.groups.rank_plus_one = arrays.add<std::uint32_t>(PageTable::groups(room.pages()));
  room.groups.of_rank = arrays.add<std::uint32_t>(ranks);
  room.groups.in_block = arrays.add<std::uint32_t>(PageTable::blocks(room.pages()));
  room.records = arrays.add<std::byte>(ranks * PageTable::group * record_bytes);
  room.free = Extents(arrays.add<Extents::Extent>(most_free_ranges), most_free_ranges);
  return arrays.end();
}

/// Writes to memory that the program may not touch, as a debugger would: where it may have little
/// data (RLIMIT_DATA), so much cannot be opened to it at once.
void write_inaccessible(os::Place at) {
  const long memory =
      os::call(__NR_openat, AT_FDCWD, os::word("/proc/self/mem"), O_RDWR | O_CLOEXEC);
  if (memory < 0) return;
  const char zero = 0;
  os::call(__NR_pwrite64, memory, os::word(&zero), sizeof zero, os::word(at));
  os::call(__NR_close, memory);
}

/// Parts of a mapping that were touched apart from each other stay apart for ever, as the kernel
/// keeps lists of their own of them, and a process may have 65530. One touch before there are
/// parts makes the list that all will share.
void join_parts(os::Place at, std::size_t length) {
  if (os::protect(at, length, PROT_READ | PROT_WRITE) == 0) {
    *os::pointer<volatile char>(at) = 0;
  } else {
    write_inaccessible(at);
  }
  os::advise(at, page_bytes, MADV_DONTNEED);
  os::protect(at, length, PROT_NONE);
}

/// As many addresses as the process may have.
Room reserve_room(std::size_t record_bytes) {
  for (std::size_t length = largest_region; length >= smallest_region; length /= 2) {
    // Whole alignment units, so that what is taken from it can be aligned.
    Room room;
    const std::size_t kept = lay_out(room, 0, length - gib, record_bytes);
    const std::size_t all = page_bytes + kept + length;
    const os::Place at = os::reserve(all, PROT_NONE);
    if (at == 0) continue;
    const os::Place arrays = at + page_bytes;
    if (!os::make_uncounted(arrays, kept)) {
      os::unmap(at, all);
      continue;
    }
    room.base = (lay_out(room, arrays, length - gib, record_bytes) + gib - 1) / gib * gib;
    os::advise(at, all, MADV_DONTDUMP);
    join_parts(room.base, room.length);
    return room;
  }
  os::fail("no address space (ulimit -v): 4 GiB are needed");
}

/// Room for something that is made when it is first needed, and never destroyed: threads use it
/// until the process ends.
template <typename T>
union Storage {
  T value;
  constexpr Storage() {}
  ~Storage() {}
};

/// What the pages of a tree are replaced by.
policy::Replacement& make_policy(const Control& control) {
  static policy::PolicyStorage storage;
  const auto all = policy::replacements();
  if (control.policy >= all.size()) os::fail("the launcher is of another version");
  const std::uint64_t near = std::max<std::uint64_t>(1, control.limit_pages);
  const auto most = static_cast<std::uint64_t>(policy::most_pages);
  return all[control.policy].make(storage, static_cast<policy::PageIndex>(std::min(near, most)));
}

/// The tiers of pages where both are addressed directly; null otherwise.
FlatPages* make_flat_pages(Control& control) {
  static policy::PolicyStorage storage;
  static Storage<FlatPages> pages;
  const std::uint32_t which = flat_of(control).policy_plus_one;
  if (which == 0) return nullptr;
  const auto all = policy::placements();
  if (which > all.size()) os::fail("the launcher is of another version");
  policy::Placement& placement = all[which - 1].make(storage, policy::most_pages);
  return std::construct_at(&pages.value, placement, control);
}

/// What the pages of a tree are kept in when they are far.
FarStore& make_far_store(Control& control, int descriptor) {
  static FarStoreStorage storage;
  const auto all = far_stores();
  const std::uint32_t kind = orders_of(control).far_store;
  if (kind >= all.size()) os::fail("the launcher is of another version");
  return all[kind].make(storage, far_memory(control, descriptor));
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

Storage<os::KernelUffd> uffd;
Storage<os::KernelUffd> staging_uffd;
Storage<os::KernelMemory> memory;
Storage<Pager> pager;
Storage<Service> service;
Storage<Space> space;
Storage<Runtime> started;

Runtime* start() {
  Launch found;
  if (!find_launch(found)) return nullptr;
  const std::optional<Launch> opened = open_launch(found);
  if (!opened) return nullptr;
  refuse_instrumentation();
  if (opened->sigbus != 0) reserve_room_beside_libraries();
  const Guest guest = Guest::started_with();
  const Launch& launch = *opened;
  const bool first = launch.process == os::call(__NR_getpid);
  Control& control = map_control(launch.control);
  if (!first) os::call(__NR_close, launch.control);
  FlatPages* const flat = make_flat_pages(control);
  policy::Replacement& policy = flat != nullptr ? *flat : make_policy(control);
  const Room room = reserve_room(policy.bytes_per_page());
  if (flat != nullptr) flat->reserve(PageTable::ranks(room.pages()) * PageTable::group);
  policy.keep_in(room.records);
  PageTable table(room.entries, room.groups, room.pages(), policy, control.limit_pages);
  if (control.fault_log != 0) open_log(launch.process, control.fault_log, table.log());
  FarStore& far = make_far_store(control, launch.far);
  const Region region{.base = room.base,
                      .length = room.length,
                      .pages = os::place(room.entries),
                      .groups = os::place(room.groups.rank_plus_one)};
  const Kernel kernel{*std::construct_at(&uffd.value), *std::construct_at(&staging_uffd.value),
                      *std::construct_at(&memory.value)};
  std::construct_at(&pager.value, region, table, control, far, kernel);
  if (flat != nullptr) pager.value.make_flat(*flat);
  std::construct_at(
      &service.value, pager.value, WakePipe(launch.wake_pipe), first ? launch.control : -1,
      TracerPlace{.process = launch.process, .pipe = launch.tracer, .filters = launch.filters});
  std::construct_at(&space.value, room.base, room.length, room.free, service.value);
  if (launch.sigbus != 0) serve_faults_by_signal(service.value);
  pager.value.start(os::number_in_proc(), WakePipe(launch.wake_pipe),
                    launch.sigbus != 0 ? os::Faults::signal : os::Faults::wait);
  service.value.start();
  return std::construct_at(&started.value, pager.value, service.value, space.value, control, found,
                           guest);
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
