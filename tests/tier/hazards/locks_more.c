/* More memory is locked than may be near: what else the program uses comes and goes, a few pages at
 * a time. When it may leave it does, though the program does nothing. */

#include "hazard.h"

enum { LOCKED = 10240, USED = 256, NEAR = 16 };

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
  must(munlock(locked, (size_t)LOCKED * PAGE) == 0, "munlock");
  for (int i = 0; i < 100 && in_smaps("Anonymous: %zu kB") > (NEAR + 1) * 1024; ++i) usleep(50000);
  must_be_at_most(in_smaps("Anonymous: %zu kB") / 1024, NEAR);
  check("what was locked", locked, LOCKED, 1);
  puts("ok");
  return 0;
}
