// Programs close descriptors that they did not open: daemons all of them, others those that they
// find. Ours look closed to them, and are not: the memory would be gone.

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "tier/preload/exported.h"
#include "tier/preload/report.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {
namespace {

/// The lowest of ours from `from` on; -1 if there is none.
int first_owned(Runtime& tier, int from) {
  int first = tier.service.first_owned(from);
  for (const int other : {tier.space.protections().descriptor(), kept_standard_error()})
    if (other >= from && (first < 0 || other < first)) first = other;
  return first;
}

bool is_ours(int descriptor) {
  Runtime* const tier = runtime();
  return tier != nullptr && descriptor >= 0 && first_owned(*tier, descriptor) == descriptor;
}

/// A table of descriptors of its own changes nothing for a program's only thread, but that the
/// pager's would not have it: a child would lack what is opened for it.
bool is_only_thread() { return runtime() != nullptr && __libc_single_threaded != 0; }

/// libc's, at which a thread may be cancelled. It is looked up before there are threads and forked
/// children, from which `close` may be called in a signal's handler.
int (*libc_close)(int);
__attribute__((constructor)) void find_close() { libc_close = next<int(int)>("close"); }

/// Closes what lies between ours.
long close_between(unsigned first, unsigned last, int flags) {
  constexpr unsigned highest = 0x7fffffff;
  Runtime* const tier = runtime();
  while (tier != nullptr && first <= last && first <= highest) {
    const int kept = first_owned(*tier, static_cast<int>(first));
    if (kept < 0 || static_cast<unsigned>(kept) > last) break;
    const auto ours = static_cast<unsigned>(kept);
    if (ours > first) {
      const long error = os::call(__NR_close_range, first, ours - 1, flags);
      if (error < 0) return error;
    }
    first = ours + 1;
  }
  return first <= last ? os::call(__NR_close_range, first, last, flags) : 0;
}

}  // namespace
}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;
namespace os = nearfar::tier::os;

NEARFAR_EXPORT int close(int descriptor) {
  if (preload::is_ours(descriptor)) return preload::status(-EBADF);
  if (preload::libc_close != nullptr) return preload::libc_close(descriptor);
  return preload::status(os::call(__NR_close, descriptor));
}

NEARFAR_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (first > last) return preload::status(-EINVAL);
  if (preload::is_only_thread()) flags &= ~static_cast<int>(CLOSE_RANGE_UNSHARE);
  return preload::status(preload::close_between(first, last, flags));
}

NEARFAR_EXPORT int unshare(int flags) noexcept {
  if (preload::is_only_thread()) flags &= ~CLONE_FILES;
  return preload::status(nearfar_program_call(__NR_unshare, flags, 0, 0, 0, 0, 0));
}

NEARFAR_EXPORT void closefrom(int lowest) noexcept {
  (void)preload::close_between(static_cast<unsigned>(lowest < 0 ? 0 : lowest), ~0U, 0);
}

NEARFAR_EXPORT int dup2(int from, int to) noexcept {
  if (preload::is_ours(from) || preload::is_ours(to)) return preload::status(-EBADF);
  return preload::status(os::call(__NR_dup2, from, to));
}

NEARFAR_EXPORT int dup3(int from, int to, int flags) noexcept {
  if (preload::is_ours(from) || preload::is_ours(to)) return preload::status(-EBADF);
  return preload::status(os::call(__NR_dup3, from, to, flags));
}
