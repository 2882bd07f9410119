/* Memory given back by instructions of the program's own reads as zeros, whether it was near, far
 * or on its way, also while other threads do the same; MADV_FREE may leave what was there. */

#include "own_calls.h"

enum { THREADS = 4, OWN = 16 };

static void* give_back_often(void* seed) {
  const uint64_t own = (uint64_t)(uintptr_t)seed;
  char* at = fresh(OWN);
  for (int i = 0; i < 40; ++i) {
    fill(at, OWN, own);
    if (i % 4 == 0) press();
    check("what a thread holds", at, OWN, own);
    advise_past(at + OWN / 2 * PAGE, OWN / 2, MADV_DONTNEED);
    check("what it has given back", at + OWN / 2 * PAGE, OWN / 2, 0);
    check("what it has kept", at, OWN / 2, own);
  }
  return NULL;
}

int main(void) {
  char* at = far_block(HELD, 1);
  advise_past(at, HELD, MADV_DONTNEED);
  check("far memory given back", at, HELD, 0);
  fill(at, HELD, 2);
  advise_past(at, HELD / 2, MADV_DONTNEED);
  check("near memory given back", at, HELD / 2, 0);
  fill(at, HELD, 3);
  advise_past(at, HELD, MADV_DONTNEED);
  press();
  check("near memory given back, later", at, HELD, 0);
  for (int i = 0; i < 20; ++i) { /* some of it near, some in limbo, some far */
    fill(at, HELD, 4);
    char* other = fresh((size_t)i * 30 + 30);
    fill(other, (size_t)i * 30 + 30, 5);
    must(munmap(other, ((size_t)i * 30 + 30) * PAGE) == 0, "munmap");
    advise_past(at, HELD, MADV_DONTNEED);
    check("memory on its way, given back", at, HELD, 0);
  }
  fill(at, HELD, 6);
  send_far(at, HELD);
  advise_past(at, HELD, MADV_FREE);
  check("far memory freed", at, HELD, 0);
  fill(at, HELD, 7);
  advise_past(at, HELD, MADV_FREE);
  press();
  for (size_t i = 0; i < HELD; ++i)
    must(((uint64_t*)(void*)(at + i * PAGE))[0] == 0 ||
             ((uint64_t*)(void*)(at + i * PAGE))[0] == word(7, i * WORDS),
         "near memory freed is neither zeros nor what it was");
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, give_back_often, (void*)(uintptr_t)(10 + i)) == 0,
         "pthread_create");
  for (int i = 0; i < THREADS; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
  puts("ok");
  return 0;
}
