/* Far memory that grows and moves by an mremap of the program's own keeps its contents: where the
 * kernel likes, where the program says, also over other memory, and again at once. */

#include "own_calls.h"

enum { TIMES = 5, FAR_APART = 1 << 18 }; /* pages */

int main(void) {
  const int may_move = MREMAP_MAYMOVE;
  char* at = far_block(HELD, 1);
  at = remap_past(at, HELD, HELD + 16, may_move, NULL);
  check("far memory that has moved", at, HELD, 1);
  check("what it grew by", at + (size_t)HELD * PAGE, 16, 0);
  fill(at + (size_t)HELD * PAGE, 16, 2);
  press();
  char* room = map_past(NULL, (size_t)TIMES * FAR_APART, PROT_NONE);
  for (int i = 0; i < TIMES; ++i)
    at = remap_past(at, HELD + 16, HELD + 16, may_move | MREMAP_FIXED,
                    room + (size_t)i * FAR_APART * PAGE);
  check("memory that has moved often", at, HELD, 1);
  check("what it had grown by", at + (size_t)HELD * PAGE, 16, 2);

  char* mixed = fresh(PRESSED); /* near, in limbo and far at once */
  fill(mixed, PRESSED, 3);
  char* first = remap_past(mixed, PRESSED, PRESSED, may_move | MREMAP_FIXED,
                           map_past(NULL, PRESSED, PROT_NONE));
  char* second = map_past(NULL, PRESSED, PROT_NONE);
  second = remap_past(first, PRESSED, PRESSED, may_move | MREMAP_FIXED, second);
  check("memory that has moved twice", second, PRESSED, 3);
  unmap_past(second, PRESSED);

  char* from = far_block(HELD, 4);
  char* over = far_block(HELD, 5);
  char* beside = far_block(HELD, 6);
  over = remap_past(from, HELD, HELD, may_move | MREMAP_FIXED, over);
  check("memory moved over other memory", over, HELD, 4);
  check("memory beside it", beside, HELD, 6);
  must(munmap(over, (size_t)HELD * PAGE) == 0, "munmap");

  char* left = far_block(HELD, 7);
  char* taken = remap_past(left, HELD, HELD, may_move | MREMAP_DONTUNMAP, NULL);
  check("what stayed where memory has left", left, HELD, 0);
  check("memory that has left", taken, HELD, 7);
  fill(left, HELD, 8);
  send_far(left, HELD);
  check("what was written where it stayed", left, HELD, 8);

  char* shrunk = far_block(2 * HELD, 9);
  must(remap_past(shrunk, 2 * HELD, HELD, 0, NULL) == shrunk, "mremap to less");
  check("memory that shrank", shrunk, HELD, 9);
  char* dropped = far_block(HELD, 10);
  dropped =
      remap_past(dropped, HELD, HELD, may_move | MREMAP_FIXED, map_past(NULL, HELD, PROT_NONE));
  advise_past(dropped, HELD / 2, MADV_DONTNEED);
  check("memory given back where it has moved", dropped, HELD / 2, 0);
  puts("ok");
  return 0;
}
