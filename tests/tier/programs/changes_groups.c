/* Writes to one quarter of its memory, then to another, again and again until a line comes, so that
   groups of pages change places all the time. Meanwhile it protects, locks, discards, moves and
   maps anew parts of what it writes to. Then it forks, after which pages stay until they are
   written to, and parent and child look at every word. */

#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4096, QUARTER = PAGES / 4, PART = 48, ROUNDS = 64 };

static char* memory;
static char* elsewhere;

static uint64_t* word(size_t page) { return (uint64_t*)(void*)(memory + page * PAGE); }

static void must(int holds, const char* what) {
  if (holds) return;
  puts(what);
  fflush(stdout);
  _exit(1);
}

static int has_input(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  return poll(&input, 1, 0) != 0;
}

static int is_right(size_t first, size_t end) {
  for (size_t i = first; i < end; ++i)
    if (*word(i) != i * 77) return 0;
  return 1;
}

static void write_anew(size_t first, const char* what) {
  for (size_t i = first; i < first + PART; ++i) {
    must(*word(i) == 0, what);
    *word(i) = i * 77;
  }
}

static void fork_and_look(void) {
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) _exit(is_right(0, PAGES) ? 0 : 1);
  int status = 1;
  must(waitpid(child, &status, 0) == child && status == 0, "the child found a wrong word");
}

static void change(size_t round, size_t quarter) {
  const size_t first = quarter * QUARTER + round * 37 % (QUARTER - PART);
  char* at = memory + first * PAGE;
  const size_t length = (size_t)PART * PAGE;
  switch (round % 6) {
    case 0:
      must(mprotect(at, length, PROT_READ) == 0, "mprotect");
      must(is_right(first, first + PART), "a wrong word in protected memory");
      must(mprotect(at, length, PROT_READ | PROT_WRITE) == 0, "mprotect");
      return;
    case 1:
      must(madvise(at, length, MADV_DONTNEED) == 0, "madvise");
      write_anew(first, "discarded memory is not zeros");
      return;
    case 2: {
      const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
      must(mremap(at, length, length, flags, elsewhere) == elsewhere, "mremap");
      must(mremap(elsewhere, length, length, flags, at) == at, "mremap back");
      return;
    }
    case 3:
      if (mlock(at, length) == 0) must(munlock(at, length) == 0, "munlock");
      return;
    case 4:
      must(munmap(at, length) == 0, "munmap");
      must(mmap(at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) == at,
           "mmap");
      write_anew(first, "new memory is not zeros");
      return;
    default:
      return;
  }
}

int main(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
  elsewhere = mmap(NULL, (size_t)PART * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
  must(memory != MAP_FAILED && elsewhere != MAP_FAILED, "mmap");
  for (size_t i = 0; i < PAGES; ++i) *word(i) = i * 77;
  puts("filled");
  fflush(stdout);
  for (size_t round = 0; !has_input(); ++round) {
    const size_t quarter = 2 + round / ROUNDS % 2;
    for (size_t sweep = 0; sweep < 4; ++sweep)
      for (size_t i = 0; i < QUARTER; ++i) ++word(quarter * QUARTER + i)[1];
    change(round, quarter);
  }
  fork_and_look();
  puts(is_right(0, PAGES) ? "all words are right" : "wrong");
  return 0;
}
