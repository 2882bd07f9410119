/* A program moves its break instead of calling mmap or malloc. */

#include "hazard.h"

enum { STEP = 128, STEPS = 32 };

int main(void) {
  char* first = sbrk(0);
  must(first != (void*)-1, "sbrk");
  char* before = first;
  for (uint64_t i = 1; i <= STEPS; ++i) {
    char* at = sbrk(STEP * PAGE);
    must(at == before, "sbrk does not go on where it was");
    check("what the break grew by", at, STEP, 0);
    fill(at, STEP, i);
    before = at + STEP * PAGE;
  }
  for (uint64_t i = 1; i <= STEPS; ++i)
    check("below the break", first + (i - 1) * STEP * PAGE, STEP, i);
  must(sbrk(-STEP * PAGE * (STEPS / 2)) == before, "sbrk back");
  must(sbrk(0) == first + STEP * PAGE * (STEPS / 2), "the break");
  char* again = sbrk(STEP * PAGE);
  check("what the break grew by again", again, STEP, 0);
  must(brk(first) == 0 && sbrk(0) == first, "brk");
  must(brk(first + STEP * PAGE + 100) == 0, "brk");
  check("what brk grew by", first, STEP, 0);
  must(sbrk(0) == first + STEP * PAGE + 100, "a break within a page");
  puts("ok");
  return 0;
}
