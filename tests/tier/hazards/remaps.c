/* Far memory grows, shrinks and moves by mremap. */

#include "hazard.h"

int main(void) {
  char* at = far_block(HELD, 1);
  size_t pages = HELD;
  char* wall[40];
  for (int i = 0; i < 40; ++i) {
    wall[i] = fresh(1); /* so that it cannot always grow where it is */
    fill(wall[i], 1, 2);
    const size_t more = pages + 16;
    at = mremap(at, pages * PAGE, more * PAGE, MREMAP_MAYMOVE);
    must(at != MAP_FAILED, "mremap to more");
    check("grown memory", at, HELD, 1);
    check("what it grew by", at + pages * PAGE, more - pages, 0);
    fill(at + pages * PAGE, more - pages, 0); /* what is only read would take no memory */
    pages = more;
    if (i % 8 == 0) send_far(at, pages);
    const size_t fewer = pages - 15;
    must(mremap(at, pages * PAGE, fewer * PAGE, 0) == at, "mremap to less");
    pages = fewer;
  }
  check("memory that was resized often", at, HELD, 1);
  for (int i = 0; i < 40; ++i) check("what lay behind it", wall[i], 1, 2);
  must(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL) == MAP_FAILED &&
           errno == EINVAL,
       "MREMAP_DONTUNMAP was not refused");
  must(mremap(at, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL,
       "a second mapping was not refused");
  check("memory after refusals", at, HELD, 1);
  puts("ok");
  return 0;
}
