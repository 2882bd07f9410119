#include "tier/os/keep.h"

#include <sched.h>

#include "tier/os/system.h"
#include "tier/os/thread.h"

namespace nearfar::tier::os {
namespace {

enum Outcome : std::uint32_t { unknown, kept, refused };
std::atomic<std::uint32_t> outcome;  // not on a stack: that may be far
int to_keep = -1;
void (*to_run)(void*) = nullptr;

void keep(void* argument) {
  const bool own_table = call(__NR_unshare, CLONE_FILES) == 0;
  if (own_table) {
    // Nothing else: what the program closes must be closed, or a pipe never ends.
    if (to_keep > 0) call(__NR_close_range, 0, to_keep - 1, 0);
    call(__NR_close_range, to_keep + 1L, ~0U, 0);
  }
  void (*const run)(void*) = to_run;
  outcome.store(own_table ? kept : refused);
  wake_all(outcome);
  if (own_table) run(argument);
}

}  // namespace

int keep_open(int descriptor, void (*then)(void*), void* argument) noexcept {
  outcome.store(unknown);
  to_keep = descriptor;
  to_run = then;
  const int thread = start_thread(keep, argument);
  if (thread == 0) return 0;
  while (outcome.load() == unknown) wait(outcome, unknown);
  return outcome.load() == kept ? thread : 0;
}

}  // namespace nearfar::tier::os
