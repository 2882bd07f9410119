/* mprotect of what is not mapped fails, and leaves it so. */

#include "../hazards/hazard.h"

enum { HOLE = 8 };

static void must_fail(char* at, size_t pages) {
  errno = 0;
  must(mprotect(at, pages * PAGE, PROT_READ | PROT_WRITE) == -1 && errno == ENOMEM,
       "mprotect of what is not mapped");
}

int main(void) {
  char* at = far_block(HELD, 1);
  must(munmap(at + HOLE * PAGE, HOLE * PAGE) == 0, "munmap");
  must_fail(at + HOLE * PAGE, HOLE);
  must_fail(at, HELD);
  int ends[2];
  must(pipe(ends) == 0, "pipe");
  must(write(ends[1], at + HOLE * PAGE, 1) == -1 && errno == EFAULT, "it is mapped");
  must(mprotect(at, HOLE * PAGE, PROT_READ) == 0, "mprotect");
  check("memory beside it", at, HOLE, 1);
  must(munmap(at, HELD * PAGE) == 0, "munmap");
  must_fail(at, HELD);
  puts("ok");
  return 0;
}
