/* What is given back reads as zeros, whether it was near or far; MADV_FREE may leave it. */

#include "hazard.h"

int main(void) {
  const size_t length = (size_t)HELD * PAGE;
  const int advice[] = {MADV_DONTNEED, MADV_FREE};
  for (int i = 0; i < 2; ++i) {
    char* at = far_block(HELD, 1);
    must(madvise(at, length, advice[i]) == 0, "madvise");
    check("far memory given back", at, HELD, 0);
    fill(at, HELD, 2);
    must(madvise(at, length / 2, advice[i]) == 0, "madvise");
    fill(at, HELD / 4, 3);
    send_far(at, HELD);
    check("memory used again", at, HELD / 4, 3);
    check("near memory given back", at + length / 4, HELD / 4, 0);
    must(munmap(at, length) == 0, "munmap");
  }
  puts("ok");
  return 0;
}
