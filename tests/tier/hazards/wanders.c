/* Memory is used for a while and given back, always at other addresses, and some of it stays: what
 * is known of what was given back takes no near memory. Of PAGES at a time in STEPS, and TIMES; and
 * near memory is so many MiB. */

#include "hazard.h"

enum { KEPT = 64 };

int main(int count, char** arguments) {
  must(count == 5, "PAGES STEPS TIMES NEAR");
  const size_t pages = strtoul(arguments[1], NULL, 10), steps = strtoul(arguments[2], NULL, 10);
  const size_t times = strtoul(arguments[3], NULL, 10), near = strtoul(arguments[4], NULL, 10);
  char* base = mmap(NULL, (times + 1) * pages * PAGE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  must(base != MAP_FAILED, "mmap");
  char* kept = near == 2 ? far_block(KEPT, 1) : fresh(KEPT);
  fill(kept, KEPT, 1);
  for (size_t i = 0; i < times; ++i) {
    char* part = base + i * pages * PAGE;
    must(mprotect(part, pages * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
    for (size_t page = 0; page < pages; ++page) *(uint64_t*)(void*)(part + page * PAGE) = i + page;
    for (size_t page = 0; page < pages; ++page)
      must(*(uint64_t*)(void*)(part + page * PAGE) == i + page, "a part");
    const size_t step = pages / steps * PAGE;
    for (char* at = part; at < part + pages * PAGE; at += step) {
      must(madvise(at, step, MADV_DONTNEED) == 0, "madvise");
      check("what was given back", at, 1, 0);
      must(munmap(at, step) == 0, "munmap");
    }
  }
  check("what stays", kept, KEPT, 1);
  must_be_at_most(in_smaps("Anonymous: %zu kB") >> 10, near);
  puts("ok");
  return 0;
}
