/* Threads touch the same far pages at once, while memory that one of them reads is given back, and
 * while the process forks: no write is lost, and discarded memory reads as zeros to the thread that
 * discarded it, even if another thread had it on its way in. */

#include "hazard.h"

#include <stdatomic.h>

enum { THREADS = 4, SHARED = 2048, GIVEN = 1024, STEPS = 15000, FORKS = 4 };

static _Atomic uint64_t (*counts)[WORDS];  /* a page each */
static _Atomic uint64_t* given; /* GIVEN pages, with the same number in each or zeros */
static atomic_int ended;

static uint64_t next(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* One half of the pages in the order in which all of them come, so that they meet. */
static void* touch(void* argument) {
  const size_t self = (size_t)(uintptr_t)argument;
  uint64_t own = 88172645463325252u + self;
  uint64_t common = 1;
  for (size_t i = 0; i < STEPS; ++i) {
    const size_t page = next(i % 2 == 0 ? &own : &common) % SHARED;
    atomic_fetch_add(&counts[page][0], 1);
    atomic_fetch_add(&counts[page][1 + self], 1);
    (void)atomic_load(&given[next(&own) % GIVEN * WORDS]);
  }
  return NULL;
}

static void* give_back(void* argument) {
  (void)argument;
  for (uint64_t n = 1; !atomic_load(&ended); ++n) {
    for (size_t page = 0; page < GIVEN; ++page) atomic_store(&given[page * WORDS], n);
    for (size_t page = 0; page < GIVEN; ++page)
      must(atomic_load(&given[page * WORDS]) == n, "what was written is gone");
    must(madvise((void*)given, (size_t)GIVEN * PAGE, MADV_DONTNEED) == 0, "madvise");
    for (size_t page = 0; page < GIVEN; ++page)
      must(atomic_load(&given[page * WORDS]) == 0, "what was given back is there");
  }
  return NULL;
}

int main(void) {
  counts = (void*)fresh(SHARED);
  given = (void*)fresh(GIVEN);
  pthread_t threads[THREADS], giver;
  must(pthread_create(&giver, NULL, give_back, NULL) == 0, "pthread_create");
  for (size_t i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, touch, (void*)(uintptr_t)i) == 0, "pthread_create");
  for (int n = 0; n < FORKS; ++n) {
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      /* Each thread may have been between its two additions. */
      uint64_t sum = 0, sums = 0;
      for (size_t page = 0; page < SHARED; ++page) {
        sum += counts[page][0];
        for (size_t i = 0; i < THREADS; ++i) sums += counts[page][1 + i];
      }
      must(sum >= sums && sum <= sums + THREADS, "writes are missing in a child");
      _exit(0);
    }
    must(status_of(child) == 0, "a child");
  }
  for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  atomic_store(&ended, 1);
  pthread_join(giver, NULL);
  uint64_t sums[1 + THREADS] = {0};
  for (size_t page = 0; page < SHARED; ++page)
    for (size_t i = 0; i <= THREADS; ++i) sums[i] += counts[page][i];
  must(sums[0] == (uint64_t)THREADS * STEPS, "writes are missing");
  for (size_t i = 0; i < THREADS; ++i) must(sums[1 + i] == STEPS, "a thread's writes are missing");
  puts("ok");
  return 0;
}
