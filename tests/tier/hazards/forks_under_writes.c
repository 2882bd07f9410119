/* Threads write all the time while others fork: each process sees what it wrote itself. */

#include "hazard.h"

#include <stdatomic.h>

enum { THREADS = 3 };

static atomic_int ended;
static char* blocks[THREADS];
static atomic_ulong written[THREADS];

static void* keep_writing(void* argument) {
  const size_t i = (size_t)(uintptr_t)argument;
  for (uint64_t n = 1; !atomic_load(&ended); ++n) {
    for (size_t page = 0; page < HELD; ++page)
      *(volatile uint64_t*)(void*)(blocks[i] + page * PAGE + 8) = n;
    atomic_store(&written[i], n);
  }
  return NULL;
}

/* Every page holds the round that was complete, or the one that was on its way. */
static void check_rounds(size_t i, uint64_t complete) {
  for (size_t page = 0; page < HELD; ++page) {
    const uint64_t found = *(volatile uint64_t*)(void*)(blocks[i] + page * PAGE + 8);
    errno = 0;
    must(found >= complete && found <= complete + 2, "a thread's memory in a child");
  }
}

int main(void) {
  char* at = far_block(HELD, 1);
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; ++i) {
    blocks[i] = fresh(HELD);
    must(pthread_create(&threads[i], NULL, keep_writing, (void*)(uintptr_t)i) == 0,
         "pthread_create");
  }
  for (int n = 0; n < 12; ++n) {
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      for (size_t i = 0; i < THREADS; ++i) check_rounds(i, atomic_load(&written[i]));
      check("far memory in a child", at, HELD, 1);
      fill(at, HELD, 2 + (uint64_t)n);
      if (n % 4 == 0) send_far(at, HELD);
      check("a child's own", at, HELD, 2 + (uint64_t)n);
      _exit(0);
    }
    must(status_of(child) == 0, "a child");
    check("far memory in the parent", at, HELD, 1);
  }
  atomic_store(&ended, 1);
  for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  puts("ok");
  return 0;
}
