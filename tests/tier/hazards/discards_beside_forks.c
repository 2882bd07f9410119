/* Threads discard memory while another forks. A child finds in it the old contents or
 * zeros, all memory that no thread discards, and nothing where it maps memory anew. */

#include "hazard.h"

enum { THREADS = 4, BLOCKS = 16, FORKS = 50, ANEW = 64 };

static char* blocks[THREADS][BLOCKS];
static volatile int current[THREADS]; /* the block that a thread gives back */
static volatile int stop;
static int by_number;

static void give_back(char* at, size_t pages) {
  if (by_number)
    must(syscall(SYS_madvise, at, pages * PAGE, MADV_DONTNEED) == 0, "madvise by number");
  else
    must(madvise(at, pages * PAGE, MADV_DONTNEED) == 0, "madvise");
}

static void* give_back_again(void* number) {
  const size_t self = (size_t)(uintptr_t)number;
  unsigned seed = (unsigned)self + 1;
  for (int i = 0; !stop; i = (i + 1) % BLOCKS) {
    usleep((useconds_t)(rand_r(&seed) % 2000));
    current[self] = i;
    give_back(blocks[self][i], 2);
    fill(blocks[self][i], 2, 7);
  }
  return NULL;
}

static void* map_again(void* unused) {
  while (!stop) {
    char* at = fresh(ANEW);
    fill(at, ANEW, 5);
    must(munmap(at, (size_t)ANEW * PAGE) == 0, "munmap");
    usleep(1000);
  }
  return unused;
}

static void look_around(void) {
  for (int thread = 0; thread < THREADS; ++thread)
    for (int i = 0; i < BLOCKS; ++i)
      if (i != current[thread]) check("a block", blocks[thread][i], 2, 7);
  check("memory mapped anew", fresh(8 * (size_t)ANEW), 8 * (size_t)ANEW, 0);
}

int main(int count, char** words) {
  by_number = count > 1 && strcmp(words[1], "by number") == 0;
  char* other = far_block(PRESSED, 1);
  for (int thread = 0; thread < THREADS; ++thread)
    for (int i = 0; i < BLOCKS; ++i) fill(blocks[thread][i] = fresh(2), 2, 7);
  pthread_t threads[THREADS + 1];
  for (uintptr_t i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, give_back_again, (void*)i) == 0, "pthread_create");
  must(pthread_create(&threads[THREADS], NULL, map_again, NULL) == 0, "pthread_create");
  for (int i = 0; i < FORKS; ++i) {
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      look_around();
      _exit(0);
    }
    must(status_of(child) == 0, "a child");
  }
  stop = 1;
  for (int i = 0; i <= THREADS; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
  check("far memory", other, PRESSED, 1);
  puts("ok");
  return 0;
}
