/* A signal arrives while the stack that it is handled on is far. */

#include "hazard.h"

#include <sys/ucontext.h>

static char* stack;
static int handled;

static void on_signal(int number, siginfo_t* info, void* context) {
  (void)context;
  const char* here = (const char*)&info;
  must(number == SIGUSR1 && here > stack && here < stack + (size_t)HELD * PAGE, "the stack");
  char frame[2 * PAGE];
  fill(frame, 2, (uint64_t)++handled);
  check("a handler's frame", frame, 2, (uint64_t)handled);
}

int main(void) {
  stack = fresh(HELD);
  const stack_t alternate = {.ss_sp = stack, .ss_size = (size_t)HELD * PAGE};
  must(sigaltstack(&alternate, NULL) == 0, "sigaltstack");
  const struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
  for (int i = 0; i < 10; ++i) {
    fill(stack, HELD, 50);
    send_far(stack, HELD);
    must(raise(SIGUSR1) == 0 && handled == i + 1, "the signal");
    check("what the handler did not use", stack, HELD / 2, 50);
  }
  puts("ok");
  return 0;
}
