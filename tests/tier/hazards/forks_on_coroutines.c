/* A coroutine forks, on a stack in managed memory, at any depth: what the child's stack grows into
 * was never touched. */

#include "hazard.h"

#include <alloca.h>
#include <ucontext.h>

enum { STACK = 64 * PAGE, STEP = 512 };

static ucontext_t caller, coroutine;
static int depth;

static void fork_here(void) {
  volatile char* below = alloca((size_t)depth + 1);
  below[0] = 1;
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) _exit(below[0] - 1);
  must(status_of(child) == 0, "a child");
}

int main(void) {
  char* other = far_block(HELD, 1);
  for (depth = 0; depth < 2 * PAGE; depth += STEP) {
    char* stack = fresh(STACK / PAGE);
    must(getcontext(&coroutine) == 0, "getcontext");
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &caller;
    makecontext(&coroutine, fork_here, 0);
    must(swapcontext(&caller, &coroutine) == 0, "swapcontext");
    must(munmap(stack, STACK) == 0, "munmap");
  }
  check("far memory", other, HELD, 1);
  puts("ok");
  return 0;
}
