/* Memory that grows downwards grows where addresses below it are free, with and without
 * MAP_FIXED, and what it grew by goes far and comes back as other memory does. */

#include "../hazards/hazard.h"

enum { TOP = 2, GROWN = 1500 };

static char* top_of(size_t free_pages) {
  char* at = mmap(NULL, free_pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(at != MAP_FAILED && munmap(at, free_pages * PAGE) == 0, "free addresses");
  return at + free_pages * PAGE;
}

int main(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN;
  char* top = top_of(2048);
  char* at = mmap(top - TOP * PAGE, TOP * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0);
  must(at == top - TOP * PAGE, "mmap at a fixed address");
  for (size_t page = 1; page <= GROWN; ++page) fill(top - page * PAGE, 1, page);
  for (size_t page = 1; page <= GROWN; ++page) check("what grew", top - page * PAGE, 1, page);

  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    fill(top - (GROWN + 1) * PAGE, 1, 7);
    _exit(holds(top - GROWN * PAGE, 1, GROWN) && holds(top - (GROWN + 1) * PAGE, 1, 7) ? 0 : 1);
  }
  must(status_of(child) == 0, "the child's memory");
  check("what the child grew by", top - (GROWN + 1) * PAGE, 1, 0);

  char* anywhere = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
  must(anywhere != MAP_FAILED, "mmap anywhere");
  fill(anywhere, 16, 3);
  check("memory anywhere", anywhere, 16, 3);
  must(munmap(anywhere, 16 * PAGE) == 0 && munmap(at, TOP * PAGE) == 0, "munmap");
  puts("ok");
  return 0;
}
