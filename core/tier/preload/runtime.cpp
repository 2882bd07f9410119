#include "tier/preload/runtime.h"

#include <fcntl.h>

#include <cstring>
#include <memory>
#include <mutex>

#include "tier/lock.h"

namespace nearfar::tier::preload {
namespace {

using os::page_bytes;

constexpr std::size_t gib = std::size_t{1} << 30U;
constexpr std::size_t largest_region = 1024 * gib;
constexpr std::size_t smallest_region = 4 * gib;
constexpr std::size_t most_free_ranges = std::size_t{1} << 16U;
constexpr const char* variable = "NEARFAR_TIER=";

/// Where the launcher keeps what its tree shares.
struct Launch {
  int process = 0;
  int control = 0;
  int far = 0;
  int bell = 0;
};

/// The number at `at`, which moves behind it and the separator.
int number(const char*& at) {
  int value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + (*at - '0');
  if (*at == ':') ++at;
  return value;
}

/// Reads NEARFAR_TIER=PROCESS:CONTROL:FAR:BELL from the environment that the process was started
/// with: libc's own is not there yet when the first memory is asked for.
bool find_launch(Launch& launch) {
  const long file =
      os::call(__NR_openat, AT_FDCWD, os::word("/proc/self/environ"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  static char entry[64];  // an entry that is longer is not ours
  std::size_t length = 0;
  char chunk[1024];
  bool found = false;
  for (long got = 1; got > 0 && !found;) {
    got = os::call(__NR_read, file, os::word(chunk), sizeof chunk);
    for (long i = 0; i < got && !found; ++i) {
      if (length < sizeof entry) entry[length] = chunk[i];
      ++length;
      if (chunk[i] != '\0') continue;
      found = length <= sizeof entry && std::strncmp(entry, variable, std::strlen(variable)) == 0;
      length = 0;
    }
  }
  os::call(__NR_close, file);
  if (!found) return false;
  const char* at = entry + std::strlen(variable);
  launch = {.process = number(at), .control = number(at), .far = number(at), .bell = number(at)};
  return true;
}

Control& open_control(const Launch& launch) {
  const int file = os::open_of(launch.process, launch.control);
  if (file == -EACCES || file == -EPERM)
    os::fail(
        "this program runs as another user than its launcher, whose far memory it cannot have");
  if (file < 0) os::fail("the launcher of this program is gone, and with it its far memory", file);
  constexpr int access = PROT_READ | PROT_WRITE;
  const long head = os::map(0, Control::bytes, access, MAP_SHARED, file);
  if (head < 0) os::fail("the launcher's state cannot be mapped", head);
  const auto& first = *os::pointer<Control>(static_cast<os::Place>(head));
  if (first.magic != Control::expected_magic) os::fail("the launcher is of another version");
  const std::size_t length = Control::bytes + first.far_slots * sizeof(Slots::Users);
  os::unmap(static_cast<os::Place>(head), Control::bytes);
  const long whole = os::map(0, length, access, MAP_SHARED | MAP_NORESERVE, file);
  if (whole < 0) os::fail("the launcher's state cannot be mapped", whole);
  os::call(__NR_close, file);
  return *os::pointer<Control>(static_cast<os::Place>(whole));
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
  Launch launch;
  if (!find_launch(launch)) return nullptr;
  Control& control = open_control(launch);
  const int far = os::open_of(launch.process, launch.far);
  if (far < 0) os::fail("the far file cannot be opened", far);
  const int bell = os::open_of(launch.process, launch.bell);
  if (bell < 0) os::fail("the launcher's bell cannot be opened", bell);
  os::Place base = 0;
  const std::size_t length = reserve_region(base);
  const std::size_t pages = length / page_bytes;
  const PageTable table(reserve_array<Page>(pages),
                        reserve_array<std::uint8_t>(pages / PageTable::group), pages);
  auto* const users = os::pointer<Slots::Users>(os::place(&control) + Control::bytes);
  std::construct_at(&pager.value, Region{.base = base, .length = length}, table, control,
                    Slots(control, users), FarFile(os::hide(far)));
  std::construct_at(&service.value, pager.value, TreeBell(os::hide(bell)));
  const Extents free(reserve_array<Extents::Extent>(most_free_ranges), most_free_ranges);
  std::construct_at(&space.value, base, length, free, service.value);
  pager.value.start(static_cast<std::int32_t>(os::call(__NR_getpid)));
  service.value.start();
  return std::construct_at(&started.value, pager.value, service.value, space.value);
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
