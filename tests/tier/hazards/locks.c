/* Locked memory stays near and is let go again; all of it cannot be locked. */

#include "hazard.h"

int main(void) {
  const size_t length = (size_t)HELD * PAGE;
  char* at = far_block(HELD, 1);
  must(mlock(at, length) == 0, "mlock");
  press();
  press();
  must(resident(at, HELD) == HELD, "locked memory left");
  check("locked memory", at, HELD, 1);
  must(madvise(at, length, MADV_DONTNEED) == -1 && errno == EINVAL, "locked memory given back");
  must(munlock(at, length) == 0, "munlock");
  send_far(at, HELD);
  check("memory that was locked", at, HELD, 1);
  must(mlock2(at, length, MLOCK_ONFAULT) == 0, "mlock2");
  check("memory to be locked when touched", at, HELD, 1);
  press();
  must(resident(at, HELD) == HELD, "locked memory left");
  char* moved = mremap(at, length, 2 * length, MREMAP_MAYMOVE);
  must(moved != MAP_FAILED, "mremap of locked memory");
  check("locked memory that was moved", moved, HELD, 1);
  must(munmap(moved, 2 * length) == 0, "munmap of locked memory");
  check("fresh memory", fresh(2 * HELD), 2 * HELD, 0);
  errno = 0;
  must(mlockall(MCL_CURRENT | MCL_FUTURE) == -1 && errno == ENOMEM, "mlockall was not refused");
  must(munlockall() == 0, "munlockall");
  at = far_block(HELD, 7);
  check("memory after munlockall", at, HELD, 7);
  puts("ok");
  return 0;
}
