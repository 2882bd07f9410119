/* The kernel compacts memory, which makes it wait for pages that the pager moves at that moment. */

#include "hazard.h"

#include <stdatomic.h>

static atomic_int ended;
static int order;

static void* keep_compacting(void* unused) {
  while (!atomic_load(&ended) && write(order, "1", 1) == 1) usleep(1000);
  return unused;
}

int main(void) {
  order = open("/proc/sys/vm/compact_memory", O_WRONLY);
  if (order < 0) {
    puts("memory cannot be compacted here");
    return 0;
  }
  char* held = fresh(PRESSED);
  pthread_t thread;
  must(pthread_create(&thread, NULL, keep_compacting, NULL) == 0, "pthread_create");
  for (uint64_t seed = 1; seed < 40; ++seed) {
    fill(held, PRESSED, seed);
    check("what was written while memory was compacted", held, PRESSED, seed);
  }
  atomic_store(&ended, 1);
  pthread_join(thread, NULL);
  puts("ok");
  return 0;
}
