/* Memory unmapped, mapped over and protected by instructions of the program's own: nothing of what
 * was there comes back, its neighbours keep theirs, and the addresses can be used again. */

#include "own_calls.h"

#include <setjmp.h>

static sigjmp_buf back;

static void on_fault(int number) { siglongjmp(back, number); }

static int faults(const volatile char* at) {
  if (sigsetjmp(back, 1) != 0) return 1;
  (void)*at;
  return 0;
}

int main(void) {
  const struct sigaction action = {.sa_handler = on_fault};
  must(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
  char* at = fresh(3 * HELD);
  char* middle = at + (size_t)HELD * PAGE;
  char* behind = middle + (size_t)HELD * PAGE;
  fill(at, 2 * HELD, 1);
  fill(behind, HELD, 2);
  send_far(at, 3 * HELD);
  unmap_past(middle, HELD);
  must(faults(middle) && faults(middle + (size_t)(HELD - 1) * PAGE), "unmapped memory is there");
  check("memory before it", at, HELD, 1);
  check("memory behind it", behind, HELD, 2);
  middle = map_past(middle, HELD, PROT_READ | PROT_WRITE);
  check("what was mapped there", middle, HELD, 0);
  fill(middle, HELD, 2);
  press();
  check("what was written there", middle, HELD, 2);
  middle = map_past(middle, HELD, PROT_READ | PROT_WRITE); /* over what is the kernel's own now */
  check("what was mapped over it", middle, HELD, 0);
  must(munmap(middle, (size_t)HELD * PAGE) == 0, "munmap");
  must(faults(middle), "memory unmapped by libc is there");

  char* whole = far_block(HELD, 3);
  whole = map_past(whole, HELD, PROT_NONE); /* how some allocators give memory back */
  must(faults(whole), "memory without access is there");
  whole = map_past(whole, HELD, PROT_READ | PROT_WRITE);
  check("far memory mapped over", whole, HELD, 0);
  fill(whole, HELD, 4);
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    check("what was mapped, in a child", whole, HELD, 4);
    check("its neighbours, in a child", at, HELD, 1);
    _exit(0);
  }
  must(status_of(child) == 0, "the child lost memory");
  must(munmap(whole, (size_t)HELD * PAGE) == 0, "munmap");
  char* again = far_block(HELD, 5);
  check("addresses used again", again, HELD, 5);

  must(call(SYS_mprotect, (long)(uintptr_t)again, (long)HELD * PAGE, PROT_NONE, 0, 0, 0) == 0,
       "mprotect");
  must(faults(again), "memory without access is there");
  press();
  must(call(SYS_mprotect, (long)(uintptr_t)again, (long)HELD * PAGE, PROT_READ | PROT_WRITE, 0, 0,
            0) == 0,
       "mprotect");
  check("memory that was without access", again, HELD, 5);

  for (int i = 0; i < 8; ++i) { /* whole arenas, far and near */
    char* arena = far_block(PRESSED, (uint64_t)i + 6);
    fill(arena, HELD, 20);
    unmap_past(arena, PRESSED);
  }
  check("memory beside arenas", again, HELD, 5);
  puts("ok");
  return 0;
}
