/* More memory is locked than may be near: what else the program uses comes and goes, a few pages at
 * a time. */

#include "hazard.h"

enum { LOCKED = 5120, USED = 256 };

int main(void) {
  char* locked = fresh(LOCKED);
  must(mlock(locked, (size_t)LOCKED * PAGE) == 0, "mlock");
  fill(locked, LOCKED, 1);
  char* from = fresh(USED);
  char* to = fresh(USED);
  for (uint64_t seed = 2; seed < 6; ++seed) {
    fill(from, USED, seed);
    memcpy(to, from, (size_t)USED * PAGE);
    check("what was copied", to, USED, seed);
  }
  check("what is locked", locked, LOCKED, 1);
  puts("ok");
  return 0;
}
