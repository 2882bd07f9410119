/* Memory is used for a while and given back, always at other addresses, and some of it stays: what
 * is known of what was given back takes no near memory. */

#include "hazard.h"

enum { PART = 2048, KEPT = 64 };

int main(void) {
  const size_t parts = 200;
  char* base = mmap(NULL, (parts + 1) * PART * PAGE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  must(base != MAP_FAILED, "mmap");
  char* kept = far_block(KEPT, 1);
  for (size_t i = 0; i < parts; ++i) {
    char* part = base + i * PART * PAGE;
    must(mprotect(part, PART * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
    fill(part, PART, i + 2);
    check("a part", part, PART, i + 2);
    must(madvise(part, PART * PAGE, MADV_DONTNEED) == 0, "madvise");
    check("what was given back", part, 8, 0);
    must(munmap(part, PART * PAGE) == 0, "munmap");
  }
  check("what stays", kept, KEPT, 1);
  must_be_at_most(in_smaps("Anonymous: %zu kB") >> 10, 2);
  puts("ok");
  return 0;
}
