#include "tier/preload/launch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "policy/registry.h"
#include "tier/far/far_stores.h"
#include "tier/os/status.h"
#include "tier/os/system.h"
#include "tier/os/text.h"
#include "tier/os/uffd.h"
#include "tier/preload/environment.h"
#include "tier/preload/instrumentation.h"
#include "tier/tree/orders.h"

namespace nearfar::tier::preload {
namespace {

constexpr int shared_access = PROT_READ | PROT_WRITE;
constexpr std::uint64_t least_near = std::uint64_t{1} << 20U;

/// The number at `at`, which moves behind it and the separator.
std::uint64_t long_number(const char*& at) {
  std::uint64_t value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  if (*at == ':') ++at;
  return value;
}
int number(const char*& at) { return static_cast<int>(long_number(at)); }

/// A size such as 512MiB; 0 if it is none.
std::uint64_t parse_size(const char* text) {
  std::uint64_t value = 0;
  const char* at = text;
  constexpr std::uint64_t most = std::uint64_t{1} << 20U;  // in whatever unit
  for (; *at >= '0' && *at <= '9' && value <= most; ++at)
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  if (*at == ' ') ++at;
  constexpr const char* units = "KMGT";
  unsigned shift = 0;
  for (unsigned i = 0; units[i] != '\0'; ++i)
    if (*at == units[i]) shift = 10 * (i + 1);
  const bool whole = shift != 0 && at[1] == 'i' && at[2] == 'B' && at[3] == '\0';
  return whole && value <= most ? value << shift : 0;
}

constexpr const char* near_variable = "NEARFAR_TIER_NEAR";
constexpr const char* far_variable = "NEARFAR_TIER_FAR";
constexpr const char* variables[] = {
    near_variable,         far_variable,          "NEARFAR_TIER_COMPRESS",
    "NEARFAR_TIER_EVICT",  "NEARFAR_TIER_GUEST",  "NEARFAR_TIER_PAGER_CPU",
    "NEARFAR_TIER_POLICY", "NEARFAR_TIER_REPORT", nullptr};

/// Which of a list a variable names, by its position; the first, if it is not set.
template <typename Choice>
Choice wanted(const char* variable, std::span<const Named> choices) {
  char value[64];
  if (!started_with(variable, value, sizeof value)) return Choice{0};
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (std::strcmp(value, choices[i].name) == 0) return static_cast<Choice>(i);
  char expected[256];
  char* end = expected;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const char* const before = i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ";
    end = os::put(os::put(end, before), choices[i].name);
  }
  *end = '\0';
  os::refuse(variable, value, expected);
}

/// The position of the policy that is wanted.
std::uint32_t wanted_policy() {
  char value[64];
  if (!started_with("NEARFAR_TIER_POLICY", value, sizeof value))
    return policy::default_replacement();
  const auto all = policy::replacements();
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].name == value) return i;
  char names[256];
  char* end = os::put(names, "one of");
  for (const policy::ReplacementEntry& entry : all)
    end = os::put(os::put(end, " "), entry.name.data());
  *end = '\0';
  os::refuse("NEARFAR_TIER_POLICY", value, names);
}

/// The name of the file to be made; what `nearfar tier run` takes for something else is refused.
void find_far(char* name, std::size_t size) {
  constexpr const char* expected =
      "the name of a file to be made on far memory (./NAME for one that is called so; the "
      "other kinds of far memory are for `nearfar tier run`)";
  if (!started_with(far_variable, name, size) || name[0] == '\0')
    os::refuse(far_variable, "", expected);
  for (const FarStoreEntry& kind : far_stores()) {
    if (kind.backing == FarBacking::file) continue;
    const std::size_t length = kind.name.size();
    const bool named = std::strncmp(name, kind.name.data(), length) == 0 &&
                       (name[length] == '\0' || name[length] == ':');
    if (named) os::refuse(far_variable, name, expected);
  }
}

/// Whether two tiers are asked for at all; so they are by any of the variables.
bool is_wanted() {
  char name[64];
  if (started_with_unknown("NEARFAR_TIER_", variables, name, sizeof name)) {
    os::refuse(
        name, nullptr,
        "NEARFAR_TIER_NEAR, _FAR, _COMPRESS, _EVICT, _GUEST, _PAGER_CPU, _POLICY or _REPORT");
  }
  char value[4096];
  if (started_with(near_variable, value, sizeof value)) return true;
  constexpr const char* no_others[] = {nullptr};
  if (started_with_unknown("NEARFAR_TIER_", no_others, name, sizeof name))
    os::refuse(name, nullptr, "NEARFAR_TIER_NEAR beside it, such as NEARFAR_TIER_NEAR=512MiB");
  return false;
}

/// How pages leave here; says what is to be known of copying. What cannot be at all, the pager
/// says.
os::Eviction possible_eviction() {
  auto eviction = wanted<os::Eviction>("NEARFAR_TIER_EVICT", os::all_evictions);
  if (eviction == os::Eviction::best) {
    os::KernelUffd tried;
    const bool opened = tried.open(eviction, os::Changes::unseen, os::Faults::wait) == 0;
    if (opened) eviction = tried.moves() ? os::Eviction::move : os::Eviction::copy;
    if (opened) tried.close();
    if (tried.device() >= 0) os::call(__NR_close, tried.device());
  }
  if (eviction == os::Eviction::copy)
    os::call(__NR_write, 2, os::word(os::copying_risks), os::word(std::strlen(os::copying_risks)));
  return eviction;
}

/// Makes what the launcher would make. The numbers stay the same and open when this process
/// becomes another program, which then goes on with the same tree.
Launch make_launch(std::uint64_t near_bytes, const char* far_name) {
  const auto process = static_cast<std::int32_t>(os::call(__NR_getpid));
  const auto keep = [](long descriptor, const char* what) {
    if (descriptor < 0) os::fail(what, descriptor);
    const int hidden = os::hide(static_cast<int>(descriptor));
    os::call(__NR_fcntl, hidden, F_SETFD, 0);
    return hidden;
  };
  constexpr int fresh = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  const long made = os::call(__NR_openat, AT_FDCWD, os::word(far_name), fresh, 0600);
  if (made == -EEXIST)
    os::refuse(far_variable, far_name, "the name of a new file; this one is there already");
  const int far = keep(made, "the file of NEARFAR_TIER_FAR cannot be made");
  os::call(__NR_unlinkat, AT_FDCWD, os::word(far_name), 0);
  const int control =
      keep(os::call(__NR_memfd_create, os::word("nearfar-tier"), 0), "no memory to share");
  os::call(__NR_ftruncate, control, os::word(control_memory_bytes(far_slots)));
  int ends[2] = {-1, -1};
  if (const long error = os::call(__NR_pipe2, os::word(ends), O_CLOEXEC); error < 0)
    os::fail("no descriptors left", error);
  const int wake_pipe = keep(os::open_of(process, ends[1], O_NONBLOCK),
                             "the pipe that wakes the tree cannot be made");
  for (const int end : ends) os::call(__NR_close, end);
  const long head = os::map(0, Control::bytes, shared_access, MAP_SHARED, control);
  if (head < 0) os::fail("no memory to share", head);
  auto& shared = *os::pointer<Control>(static_cast<os::Place>(head));
  shared.magic = Control::expected_magic;
  shared.limit_pages = near_bytes / os::page_bytes;
  shared.policy = wanted_policy();
  shared.far_slots = far_slots;
  Orders& orders = orders_of(shared);
  orders.generation = 1;
  orders.owner = process;
  orders.control_descriptor = control;
  orders.far_descriptor = far;
  orders.bell_descriptor = wake_pipe;
  orders.compression = wanted<Compression>("NEARFAR_TIER_COMPRESS", all_compressions);
  const bool plain = orders.compression == Compression::none;
  orders.far_store = far_store_named(plain ? "file" : "compressed");
  orders.eviction = possible_eviction();
  orders.pager_cpu = wanted<PagerCpu>("NEARFAR_TIER_PAGER_CPU", all_pager_cpus);
  os::unmap(static_cast<os::Place>(head), Control::bytes);
  const auto status = os::read_thread_status();
  return {.process = process,
          .control = control,
          .far = far,
          .wake_pipe = wake_pipe,
          .pid_namespace = os::pid_namespace(),
          .filters = status ? status->filters : 0};
}

bool has_other_pid_namespace(const Launch& launch) {
  return launch.pid_namespace != 0 && os::pid_namespace() != launch.pid_namespace;
}

/// Whether nothing that this process can look at says that it cannot be a part of the tree.
bool may_join(const Launch& launch) {
  const auto status = os::read_thread_status();
  if (!status || status->filters > launch.filters) return false;
  // Its /proc has no number of the launcher's.
  return status->pid_namespaces != 1 || !has_other_pid_namespace(launch);
}

/// Whether this process is another user's than the launcher, and not the system's administrator:
/// what it executes then has no right to look into the launcher, whatever rights it has itself.
bool is_other_user(const Launch& launch) {
  char path[32];
  *os::put(os::put(path, "/proc/"), static_cast<unsigned long>(launch.process)) = '\0';
  struct stat found{};
  if (os::call(__NR_newfstatat, AT_FDCWD, os::word(path), os::word(&found), 0) != 0) return false;
  const auto user = static_cast<uid_t>(os::call(__NR_geteuid));
  const auto group = static_cast<gid_t>(os::call(__NR_getegid));
  return user != 0 && (user != found.st_uid || group != found.st_gid);
}

bool is_gone(long error) { return error == -ENOENT || error == -ESRCH; }
bool is_forbidden(long error) { return error == -EACCES || error == -EPERM; }

}  // namespace

bool find_launch(Launch& launch) {
  char value[64] = {};
  if (started_with("NEARFAR_TIER", value, sizeof value)) {
    const char* at = value;
    launch.process = number(at);
    launch.control = number(at);
    launch.far = number(at);
    launch.wake_pipe = number(at);
    launch.sigbus = number(at);
    launch.pid_namespace = long_number(at);
    launch.filters = number(at);
    launch.tracer = number(at);
    return true;
  }
  if (!is_wanted()) return false;
  const bool short_enough = started_with(near_variable, value, sizeof value);
  const std::uint64_t near_bytes = short_enough ? parse_size(value) : 0;
  if (near_bytes < least_near)
    os::refuse(near_variable, value,
               "a whole number of KiB, MiB, GiB or TiB, 1 MiB at least, such as 512MiB");
  refuse_instrumentation();  // before anything is made
  static char far_name[4096];
  find_far(far_name, sizeof far_name);
  launch = make_launch(near_bytes, far_name);
  return true;
}

bool can_join(const Launch& launch) {
  if (!may_join(launch) || is_other_user(launch)) return false;
  const int control = os::open_of(launch.process, launch.control);
  if (control >= 0) os::call(__NR_close, control);
  return !is_forbidden(control) && !(is_gone(control) && has_other_pid_namespace(launch));
}

std::optional<Launch> open_launch(const Launch& launch) {
  if (launch.process == os::call(__NR_getpid)) return launch;  // the first process of its tree
  if (!may_join(launch)) return std::nullopt;
  Launch own = launch;
  own.control = os::open_of(launch.process, launch.control);
  if (is_forbidden(own.control)) return std::nullopt;
  if (is_gone(own.control)) {
    if (has_other_pid_namespace(launch)) return std::nullopt;
    os::fail("the launcher of this program is gone, and with it its far memory", own.control);
  }
  if (own.control < 0) os::fail("what the launcher shares cannot be opened", own.control);
  own.far = os::open_of(launch.process, launch.far);
  if (own.far < 0) os::fail("the far file cannot be opened", own.far);
  own.far = os::hide(own.far);
  own.wake_pipe = os::open_of(launch.process, launch.wake_pipe, O_NONBLOCK);
  if (own.wake_pipe < 0) os::fail("the pipe that wakes the tree cannot be opened", own.wake_pipe);
  own.wake_pipe = os::hide(own.wake_pipe);
  return own;
}

Control& map_control(int descriptor) {
  const long head = os::map(0, Control::bytes, shared_access, MAP_SHARED, descriptor);
  if (head < 0) os::fail("the launcher's state cannot be mapped", head);
  const auto& first = *os::pointer<Control>(static_cast<os::Place>(head));
  if (first.magic != Control::expected_magic) os::fail("the launcher is of another version");
  const std::size_t length = control_memory_bytes(first.far_slots);
  os::unmap(static_cast<os::Place>(head), Control::bytes);
  const long whole = os::map(0, length, shared_access, MAP_SHARED | MAP_NORESERVE, descriptor);
  if (whole < 0) os::fail("the launcher's state cannot be mapped", whole);
  os::advise(static_cast<os::Place>(whole), length, MADV_DONTDUMP);
  return *os::pointer<Control>(static_cast<os::Place>(whole));
}

}  // namespace nearfar::tier::preload
