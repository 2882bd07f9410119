#include "frontend/qemu/system_calls.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "base/address.h"
#include "frontend/guest/nearfar_requests.h"
#include "frontend/qemu/execute.h"
#include "frontend/qemu/guest_memory.h"

namespace nearfar::frontend::qemu {

thread_local SystemCalls::Pending SystemCalls::pending;

namespace {

/// What the call has answered is that a signal came; QEMU calls again by itself after the second.
bool was_interrupted(std::int64_t result) {
  constexpr std::int64_t restarts = 512;  // ERESTARTSYS
  return result == -EINTR || result == -restarts;
}

/// The child that a call that is over has waited for.
std::optional<std::int64_t> waited_for(const SystemCall& call, std::int64_t result) {
  if (call.number == SYS_wait4 && result > 0) return result;
  if (call.number != SYS_waitid || result != 0 || call.arguments[2] == 0) return std::nullopt;
  const auto told = read_guest<siginfo_t>(call.arguments[2]);
  if (!told || told->si_pid == 0) return std::nullopt;
  return told->si_pid;
}

bool is_own_program(const std::string& path) {
  return path == "/proc/self/exe" || path == "/proc/thread-self/exe" ||
         path == "/proc/" + std::to_string(getpid()) + "/exe";
}

clock_t in_clock_ticks(Tick time) {
  const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<clock_t>(time.ps() / (1'000'000'000'000 / per_second));
}

/// Times of processing in place of the kernel's; what the kernel does takes none.
void write_usage(std::uint64_t address, Tick busy) {
  auto told = read_guest<rusage>(address);
  if (!told) return;
  told->ru_utime = GuestTime::as_timeval(busy.ps() / 1000);
  told->ru_stime = {};
  write_guest(address, *told);
}

/// Whether the guest library tells of a flush, which a program does without a system call: its
/// thread does not leave its core for that.
bool tells_flush(const SystemCall& call) {
  if (call.number != NEARFAR_SYSTEM_CALL) return false;
  const std::uint64_t what = call.arguments[0];
  return what == NEARFAR_FLUSHING || what == NEARFAR_FLUSHED || what == NEARFAR_COPYING;
}

}  // namespace

SystemCalls::SystemCalls(Process& process)
    : process_(process),
      time_(process.options().count("realtime_ns"), process.options().count("monotonic_ns")),
      reading_(process.options().time("reading")) {
  if (process.options().has("persistent"))
    persistent_folder_ = process.options().name("persistent");
}

void SystemCalls::enter(const SystemCall& call) {
  Thread& thread = process_.thread();
  if (tells_flush(call)) {
    process_.hear(thread);
    pending = {.call = call, .wait = {}, .entered = {}};
    request(thread, call);
    return;
  }
  process_.leave(thread);
  const Tick now = process_.now(thread);
  process_.messages().before(call, now);
  pending = {.call = call, .wait = wait_of(call), .entered = now};
  switch (call.number) {
    case NEARFAR_SYSTEM_CALL:
      request(thread, call);
      break;
    case SYS_execve:
      execute(thread, call);
      break;
    case SYS_exit:
      process_.end_thread(thread);
      break;
    default:
      prepare_wait();
  }
}

void SystemCalls::exit(std::int64_t result) {
  if (tells_flush(pending.call)) return;
  Thread& thread = process_.thread();
  if (pending.moved) write_guest(pending.moved_at, pending.original);
  Tick until = process_.messages().after(pending.call, result);
  if (pending.limited && result == pending.wait.over) until = max(until, pending.until);
  if (was_interrupted(result)) until = max(until, interrupted_at());
  if (const auto child = waited_for(pending.call, result)) until = max(until, collect(*child));
  process_.come(thread, until, pending.wait.may_block);
  if (result < 0) return;
  switch (pending.call.number) {
    case SYS_clock_gettime:
    case SYS_gettimeofday:
      tell_time(thread);
      break;
    case SYS_getrusage:
    case SYS_times:
      tell_usage(thread);
      break;
    default:
      follow_memory(thread, static_cast<std::uint64_t>(result));
  }
}

void SystemCalls::request(Thread& thread, const SystemCall& call) {
  switch (call.arguments[0]) {
    case NEARFAR_HELLO:
      write_guest(call.arguments[1], std::uint64_t{NEARFAR_PROTOCOL});
      break;
    case NEARFAR_REGION_BEGIN:
      process_.begin_region();
      break;
    case NEARFAR_REGION_END:
      process_.end_region();
      break;
    case NEARFAR_FLUSHING:
      thread.told = ToldLines::flushing(call.arguments[1], call.arguments[2]);
      break;
    case NEARFAR_COPYING:
      thread.told = ToldLines::copying(call.arguments[1], call.arguments[2]);
      break;
    case NEARFAR_FLUSHED:
      thread.told = {};
      break;
    default:
      break;
  }
}

void SystemCalls::execute(Thread& thread, const SystemCall& call) {
  auto path = read_text(call.arguments[0]);
  auto arguments = read_texts(call.arguments[1]);
  auto environment = read_texts(call.arguments[2]);
  if (!path || !arguments || !environment) return;  // the kernel says EFAULT
  Execution execution{std::move(*path), std::move(*arguments), std::move(*environment)};
  // There the kernel has QEMU.
  if (is_own_program(execution.path)) execution.path = process_.file();
  const std::string named = execution.path;
  switch (resolve(execution)) {
    case Executable::none:
      return;
    case Executable::foreign:
      process_.note_native(named);
      process_.goes_on();
      return;
    case Executable::seen:
      break;
  }
  process_.goes_on();
  // From here on this process is another program's, unless the kernel refuses.
  qemu::execute(under_qemu(execution, process_.options(), process_.folder(), process_.now(thread),
                           process_.number() + 1));
}

void SystemCalls::prepare_wait() {
  if (pending.wait.may_block || pending.wait.form != Wait::Form::none) {
    pending.entered_real_ns = GuestTime::host_ns();
  }
  const auto limit = limit_ns(pending.wait, pending.call);
  if (!limit) return;
  const Tick now = pending.entered;
  pending.limited = true;
  if (!pending.wait.absolute) {
    pending.until = now + GuestTime::ticks(*limit);
    return;
  }
  pending.until = time_.when(pending.wait.realtime, *limit);
  const std::uint64_t at = pending.call.arguments[pending.wait.argument] + pending.wait.offset;
  const auto original = read_guest<timespec>(at);
  if (!original) return;
  const std::int64_t shown = static_cast<std::int64_t>(*limit) + time_.host_ahead_ns(now);
  pending.original = *original;
  pending.moved_at = at;
  pending.moved =
      write_guest(at, GuestTime::as_timespec(shown < 1 ? 1 : static_cast<std::uint64_t>(shown)));
}

void SystemCalls::follow_memory(Thread& thread, std::uint64_t result) {
  const auto& arguments = pending.call.arguments;
  switch (pending.call.number) {
    case SYS_mmap:
      process_.mapped(result, arguments[1], kind_of(arguments[3], arguments[4]));
      break;
    case SYS_brk:
      process_.heap_ends(result);
      break;
    case SYS_munmap:
      process_.unmapped(arguments[0], arguments[1]);
      break;
    case SYS_mremap:
      process_.remapped(arguments[0], arguments[1], result, arguments[2]);
      break;
    case SYS_msync:
      process_.synchronised(thread, arguments[0], arguments[1]);
      break;
    default:
      break;
  }
}

Mapping SystemCalls::kind_of(std::uint64_t flags, std::uint64_t file) const {
  if ((flags & MAP_STACK) != 0) return Mapping::stack;
  if ((flags & MAP_ANONYMOUS) != 0) return Mapping::memory;
  return is_persistent(file) ? Mapping::persistent : Mapping::file;
}

bool SystemCalls::is_persistent(std::uint64_t file) const {
  if (persistent_folder_.empty()) return false;
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(static_cast<int>(file));
  const ssize_t length = readlink(link.c_str(), path.data(), path.size());
  return length > 0 && std::string_view(path.data(), static_cast<std::size_t>(length))
                           .starts_with(persistent_folder_);
}

/// Natively no system call: it takes the time of a reading.
void SystemCalls::tell_time(Thread& thread) {
  const auto& arguments = pending.call.arguments;
  const Tick now = process_.pass(thread, reading_);
  if (pending.call.number == SYS_gettimeofday) {
    if (arguments[0] != 0) {
      overwrite_guest(arguments[0], GuestTime::as_timeval(*time_.at(CLOCK_REALTIME, now)));
    }
    return;
  }
  const auto clock = static_cast<clockid_t>(arguments[0]);
  auto shown = time_.at(clock, now);
  if (clock == CLOCK_PROCESS_CPUTIME_ID) shown = process_.busy().ps() / 1000;
  if (clock == CLOCK_THREAD_CPUTIME_ID) shown = process_.busy(thread).ps() / 1000;
  if (shown) overwrite_guest(arguments[1], GuestTime::as_timespec(*shown));
}

void SystemCalls::tell_usage(Thread& thread) {
  const auto& arguments = pending.call.arguments;
  if (pending.call.number == SYS_times) {
    auto told = read_guest<tms>(arguments[0]);
    if (!told) return;
    told->tms_utime = in_clock_ticks(process_.busy());
    told->tms_stime = 0;
    told->tms_cutime = in_clock_ticks(process_.busy_children());
    told->tms_cstime = 0;
    write_guest(arguments[0], *told);
    return;
  }
  switch (static_cast<int>(arguments[0])) {
    case RUSAGE_SELF:
      write_usage(arguments[1], process_.busy());
      break;
    case RUSAGE_THREAD:
      write_usage(arguments[1], process_.busy(thread));
      break;
    case RUSAGE_CHILDREN:
      write_usage(arguments[1], process_.busy_children());
      break;
    default:
      break;
  }
}

/// The child's end, whose times of processing become this process's children's.
Tick SystemCalls::collect(std::int64_t child) {
  const SystemCall& call = pending.call;
  const bool peeks = call.number == SYS_waitid && (call.arguments[3] & WNOWAIT) != 0;
  const Messages::Usage usage = process_.messages().usage_of(child);
  if (!peeks) process_.waited_for(usage);
  write_usage(call.arguments[call.number == SYS_waitid ? 4 : 3], usage.own + usage.children);
  return process_.messages().end_of(child);
}

/// A signal of another process ends a wait when it was sent. One from elsewhere, of a timer or a
/// terminal, when it came: by the real clock, as long as waits take by that.
Tick SystemCalls::interrupted_at() {
  if (pending.entered_real_ns == 0) return {};
  if (const auto child_ended = process_.messages().interrupted()) return *child_ended;
  const Tick at =
      pending.entered + GuestTime::ticks(GuestTime::host_ns() - pending.entered_real_ns);
  return pending.limited ? min(at, pending.until) : at;
}

}  // namespace nearfar::frontend::qemu
