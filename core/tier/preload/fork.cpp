// fork. Its handlers are the first to be registered (the library is initialised before all
// others), so they run last before a fork, and in the child first.

#include <pthread.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): for libc's list of files
#include <ucontext.h>

#include <cstdio>
#include <cstring>

#include "tier/preload/exported.h"
#include "tier/preload/held_calls.h"
#include "tier/preload/raw_fork.h"
#include "tier/preload/report.h"
#include "tier/preload/rewriting.h"
#include "tier/preload/runtime.h"

// libc's list of open files; a forked child walks it before anything of ours can run.
extern "C" {
void _IO_list_lock();    // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
void _IO_list_unlock();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
void _IO_list_resetlock();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
void* _IO_iter_begin();  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
void* _IO_iter_end();    // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
void* _IO_iter_next(void*);  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
FILE* _IO_iter_file(void*);  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace nearfar::tier::preload {
namespace {

/// Whether this is the first process of a tree without a launcher.
bool is_first(const Runtime& tier) {
  return tier.launch.process == static_cast<int>(os::call(__NR_getpid));
}

bool agreed;  // to the fork that has the lock
std::uint64_t signals_before;

void touch(const volatile void* at) { (void)*static_cast<const volatile char*>(at); }

/// Brings in what libc's fork reads in the child before the child has a pager. Nothing is evicted
/// any more when this runs, and the list is locked.
void touch_what_fork_needs() {
  for (void* at = _IO_iter_begin(); at != _IO_iter_end(); at = _IO_iter_next(at)) {
    const FILE* file = _IO_iter_file(at);
    touch(file);
    touch(reinterpret_cast<const char*>(file) + sizeof(FILE) - 1);
    if (file->_lock != nullptr) touch(file->_lock);
  }
}

/// A stack in managed memory, as coroutines have: the frames above this one.
void touch_stack(Space& space) {
  const os::Place frame = os::place(__builtin_frame_address(0));
  for (os::Place at = frame; at < frame + 4 * os::page_bytes; at += os::page_bytes) {
    if (!space.has(at)) return;
    touch(os::pointer(at));
  }
}

void prepare() {
  Runtime* const tier = runtime();
  if (tier == nullptr) return;
  // libc takes it, too, later: its holder could then wait for the end of this fork.
  _IO_list_lock();
  const std::uint64_t before = os::block_signals();
  one_fork.lock();
  tier->service.begin_release();  // the child may run where they may
  signals_before = before;
  agreed = tier->service.ask(
      {.kind = Request::Kind::pause, .thread = static_cast<int>(os::call(__NR_gettid))});
  if (agreed) {
    touch_what_fork_needs();
    touch_stack(tier->space);
  }
  tier->space.lock().lock();
}

void finish() {
  const std::uint64_t before = signals_before;
  one_fork.unlock();
  os::restore_signals(before);
}

void in_parent() {
  Runtime* const tier = runtime();
  if (tier == nullptr) return;
  tier->space.lock().unlock();
  if (agreed) tier->service.ask({.kind = Request::Kind::resume});
  tier->service.end_release();
  _IO_list_unlock();
  finish();
}

os::Place frame_of_child;

void start_in_child() {
  Runtime* const tier = runtime();
  tier->service.start_in_child(frame_of_child, os::number_in_proc());
}

/// Calls `start_in_child` on a stack that is not managed: from when memory is watched until the
/// pager's thread runs, no thread would bring in the pages that a stack grows into.
void start_in_child_elsewhere() {
  alignas(64) static char stack[std::size_t{256} << 10U];
  static ucontext_t back;
  static ucontext_t there;
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &back;
  makecontext(&there, start_in_child, 0);
  swapcontext(&back, &there);
}

constexpr const char* cannot_fork =
    "no place or no descriptors for another process, or a table of them apart; this child ends "
    "here";

void in_child() {
  Runtime* const tier = runtime();
  if (tier == nullptr) return;
  if (!agreed) os::fail(cannot_fork);
  hold_calls_in_child();
  _IO_list_resetlock();
  drop_standard_error();
  frame_of_child = os::place(__builtin_frame_address(0));
  if (tier->space.holds(frame_of_child, 1)) {
    start_in_child_elsewhere();
  } else {
    start_in_child();
  }
  tier->space.lock().unlock();
  finish();
}

/// What this process starts belongs to its tree: in the environment the wish for one gives way to
/// the one that was made. libc has its environment from the same words, and only later.
void hand_on(const Launch& launch, char** environment) {
  static char entry[128];
  for (; *environment != nullptr; ++environment) {
    constexpr const char* wish = "NEARFAR_TIER_NEAR=";
    if (std::strncmp(*environment, wish, std::strlen(wish)) != 0) continue;
    std::snprintf(entry, sizeof entry, "NEARFAR_TIER=%d:%d:%d:%d:0:%lu:%d", launch.process,
                  launch.control, launch.far, launch.wake_pipe, launch.pid_namespace,
                  launch.filters);
    *environment = entry;
  }
}

/// libc gives constructors what main gets.
__attribute__((constructor(101))) void begin(int /*count*/, char** /*words*/, char** environment) {
  const Runtime* const tier = runtime();
  if (tier == nullptr) return;
  if (tier->launch.sigbus != 0) rewrite_calls();
  if (pthread_atfork(prepare, in_parent, in_child) != 0)
    os::fail("no memory for the handlers of fork");
  if (!is_first(*tier)) return;
  hand_on(tier->launch, environment);
  keep_standard_error();
}

/// What the process holds outside is counted once more when there is most of it.
__attribute__((destructor)) void end() {
  Runtime* const tier = runtime();
  if (tier == nullptr) return;
  tier->service.ask({.kind = Request::Kind::sample});
  if (is_first(*tier)) report(tier->control);
}

}  // namespace
}  // namespace nearfar::tier::preload

/// A fork that could not be managed fails, as for lack of processes. The handlers alone cannot say
/// so: where libc forks by itself (daemon, forkpty) the child ends.
NEARFAR_EXPORT pid_t fork() noexcept {
  using Function = pid_t();
  static const auto real = nearfar::tier::preload::next<Function>("fork");
  nearfar::tier::preload::Runtime* const tier = nearfar::tier::preload::runtime();
  if (tier != nullptr &&
      !tier->service.ask({.kind = nearfar::tier::Request::Kind::agree_to_fork,
                          .thread = static_cast<int>(nearfar::tier::os::call(__NR_gettid))})) {
    errno = EAGAIN;
    return -1;
  }
  return real();
}
