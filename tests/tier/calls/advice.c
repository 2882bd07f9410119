/* madvise of far memory says of what it does not do that it cannot, and gives back what is mapped
 * around a hole, and what is locked. */

#include "../hazards/hazard.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
enum { INSTALL_GUARD = 102, REMOVE_GUARD = 103, UNKNOWN = 9999 };

static void must_refuse(char* at, int advice) {
  errno = 0;
  if (madvise(at, PAGE, advice) == -1 && errno == EINVAL) return;
  printf("advice %d was not refused\n", advice);
  fflush(stdout);
  _exit(1);
}

int main(void) {
  char* at = far_block(HELD, 1);
  const int refused[] = {INSTALL_GUARD, REMOVE_GUARD, UNKNOWN, MADV_DONTFORK, MADV_WIPEONFORK};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) must_refuse(at, refused[i]);
  const int taken[] = {MADV_NORMAL, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_HUGEPAGE, MADV_DOFORK};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; ++i)
    must(madvise(at, HELD * PAGE, taken[i]) == 0, "a hint");
  check("memory after advice", at, HELD, 1);

  must(munmap(at + 8 * PAGE, 8 * PAGE) == 0, "munmap");
  errno = 0;
  must(madvise(at, HELD * PAGE, MADV_DONTNEED) == -1 && errno == ENOMEM, "a hole was not told");
  check("what lay before the hole", at, 8, 0);
  check("what lay behind the hole", at + 16 * PAGE, HELD - 16, 0);
  must_refuse(at, UNKNOWN);

  char* locked = fresh(HELD);
  fill(locked, 8, 3);
  fill(locked + 8 * PAGE, HELD - 8, 2);
  must(mlock(locked, 8 * PAGE) == 0, "mlock");
  must(madvise(locked, HELD * PAGE, MADV_DONTNEED) == -1 && errno == EINVAL, "it was not locked");
  must(madvise(locked, 8 * PAGE, MADV_DONTNEED_LOCKED) == 0, "locked memory");
  check("locked memory that was given back", locked, 8, 0);
  check("what lay behind it", locked + 8 * PAGE, HELD - 8, 2);
  must(madvise(locked, 8 * PAGE, MADV_DONTNEED) == -1 && errno == EINVAL, "it is locked no more");
  must(madvise(locked + 8 * PAGE, 8 * PAGE, MADV_DONTNEED_LOCKED) == 0, "what is not locked");
  check("what was not locked", locked + 8 * PAGE, 8, 0);
  puts("ok");
  return 0;
}
