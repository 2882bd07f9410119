/* Far memory whose protection changes keeps its contents and its protection. */

#include "hazard.h"

#include <setjmp.h>

static sigjmp_buf back;

static void on_fault(int number) { siglongjmp(back, number); }

static int faults(volatile char* at, int write) {
  if (sigsetjmp(back, 1) != 0) return 1;
  if (write) {
    *at = 1;
  } else {
    (void)*at;
  }
  return 0;
}

int main(void) {
  const size_t length = (size_t)HELD * PAGE;
  const struct sigaction action = {.sa_handler = on_fault};
  must(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
  char* at = far_block(HELD, 1);
  must(mprotect(at, length, PROT_READ) == 0, "mprotect");
  must(faults(at, 1), "a read-only page was written");
  check("far memory that became read-only", at, HELD, 1);
  press();
  check("read-only memory", at, HELD, 1);
  must(mprotect(at, length, PROT_READ | PROT_WRITE) == 0, "mprotect");
  send_far(at, HELD);
  must(mprotect(at, length, PROT_NONE) == 0, "mprotect");
  must(faults(at, 0) && faults(at, 1), "a page without access was touched");
  press();
  must(mprotect(at, length, PROT_READ | PROT_WRITE) == 0, "mprotect");
  check("memory that was without access", at, HELD, 1);
  must(mprotect(at, length, PROT_NONE) == 0, "mprotect");
  press(); /* near pages, some in limbo, without access */
  must(mprotect(at, length, PROT_READ) == 0, "mprotect");
  check("near memory that was without access", at, HELD, 1);
  must(mprotect(at, length, PROT_READ | PROT_WRITE) == 0, "mprotect");
  send_far(at, HELD);
  must(mprotect(at, length, PROT_READ | PROT_WRITE | PROT_EXEC) == 0, "mprotect");
  check("far memory that became executable", at, HELD, 1);
  at[length - PAGE] = (char)0xc3; /* ret */
  press();
  ((void (*)(void))(uintptr_t)(at + length - PAGE))();
  check("executable memory", at, HELD - 1, 1);
  must(mprotect(at, length, PROT_READ | PROT_WRITE) == 0, "mprotect");
  press(); /* it is managed no more, and stays where it is */
  must(resident(at, HELD) == HELD, "memory that was executable");
  check("memory that was executable", at, HELD - 1, 1);
  puts("ok");
  return 0;
}
