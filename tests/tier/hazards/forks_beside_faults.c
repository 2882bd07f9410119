/* Threads wait for faults all the time, several at once, while others fork. What they bring in
 * meanwhile keeps within the budget, nearly; and each child is served as its parent was: one that
 * is not would wait for ever, and an alarm ends it. */

#include "hazard.h"

#include <stdatomic.h>

enum { THREADS = 6, BIG = 2048, FORKS = 10, TOUCHED = 40 };

static atomic_int ended;
static char* at;

static uint64_t next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static int is_right(size_t page) {
  return *(volatile uint64_t*)(void*)(at + page * PAGE) == word(1, page);
}

static void* keep_reading(void* argument) {
  uint64_t state = (uintptr_t)argument + 1;
  while (!atomic_load(&ended)) must(is_right(next(&state) % BIG), "memory of a thread");
  return NULL;
}

int main(void) {
  at = fresh(BIG);
  for (size_t page = 0; page < BIG; ++page) *(uint64_t*)(void*)(at + page * PAGE) = word(1, page);
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, keep_reading, (void*)(uintptr_t)i) == 0,
         "pthread_create");
  usleep(200000);
  for (uint64_t n = 0; n < FORKS; ++n) {
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      alarm(20);
      uint64_t state = n + 100;
      for (int i = 0; i < TOUCHED; ++i) must(is_right(next(&state) % BIG), "memory of a child");
      _exit(0);
    }
    must(status_of(child) == 0, "a child");
    usleep(2000);
  }
  atomic_store(&ended, 1);
  for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  puts("ok");
  return 0;
}
