/* What the programs of this folder share: memory whose contents are known, and the means to make
 * it far. Each program does one thing that could lose memory, and prints "ok" if nothing was. */

#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8, HELD = 64, ROUNDS = 50, PRESSED = 2560 };

__attribute__((unused)) static void must(int holds, const char* what) {
  if (holds) return;
  printf("%s: %s\n", what, strerror(errno));
  fflush(stdout);
  _exit(1);
}

/* In KiB, of all mappings, by a line of smaps. Of the sum that the kernel makes: a reader of
 * mapping after mapping counts one twice that is joined with its neighbour meanwhile. */
__attribute__((unused)) static size_t in_smaps(const char* format) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  must(file != NULL, "smaps_rollup");
  char line[512];
  size_t kib = 0;
  int found = 0;
  while (!found && fgets(line, sizeof line, file) != NULL) found = sscanf(line, format, &kib) == 1;
  fclose(file);
  must(found, format);
  return kib;
}

/* Of what is resident, in MiB: near, what may be above it, and the library's own tables. */
__attribute__((unused)) static void must_be_at_most(size_t found, size_t near) {
  if (found <= near + 1 + 4) return;
  printf("%zu MiB are resident\n", found);
  fflush(stdout);
  _exit(1);
}

__attribute__((unused)) static uint64_t word(uint64_t seed, size_t i) {
  return seed == 0 ? 0 : (seed * 0x9e3779b97f4a7c15u + i) * 0xff51afd7ed558ccdu;
}

/* Seed 0 is zeros. */
__attribute__((unused)) static void fill(char* at, size_t pages, uint64_t seed) {
  for (size_t i = 0; i < pages * WORDS; ++i) ((uint64_t*)(void*)at)[i] = word(seed, i);
}

__attribute__((unused)) static int holds(const char* at, size_t pages, uint64_t seed) {
  for (size_t i = 0; i < pages * WORDS; ++i)
    if (((const uint64_t*)(const void*)at)[i] != word(seed, i)) return 0;
  return 1;
}

__attribute__((unused)) static void check(const char* what, const char* at, size_t pages,
                                          uint64_t seed) {
  for (size_t i = 0; i < pages * WORDS; ++i) {
    const uint64_t found = ((const uint64_t*)(const void*)at)[i];
    if (found == word(seed, i)) continue;
    printf("%s: word %zu is %llx, not %llx\n", what, i, (unsigned long long)found,
           (unsigned long long)word(seed, i));
    fflush(stdout);
    _exit(1);
  }
}

__attribute__((unused)) static char* fresh(size_t pages) {
  char* at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(at != MAP_FAILED, "mmap");
  return at;
}

/* Uses so much other memory that what is not in use leaves. */
__attribute__((unused)) static void press(void) {
  char* other = fresh(PRESSED);
  fill(other, PRESSED, 99);
  check("what was pressed with", other, PRESSED, 99);
  must(munmap(other, PRESSED * PAGE) == 0, "munmap");
}

__attribute__((unused)) static size_t resident(const char* at, size_t pages) {
  unsigned char there[PRESSED];
  size_t count = 0;
  must(mincore((void*)at, pages * PAGE, there) == 0, "mincore");
  for (size_t i = 0; i < pages; ++i) count += there[i] & 1;
  return count;
}

#ifdef NEARFAR_FLAT
static pid_t first_process;
__attribute__((constructor)) static void note_first_process(void) { first_process = getpid(); }

/* Both tiers are addressed directly: waits until one of these pages is out of its place, as it is
   probed or exchanged. The next thing that the program does, it does to memory in that state. What
   a child has inherited stays where it is. */
__attribute__((unused)) static void send_far(const char* at, size_t pages) {
  const struct timespec moment = {.tv_nsec = 100000};
  if (getpid() != first_process) return;
  for (int i = 0; i < 600000; ++i) {
    if (resident(at, pages) < pages) return;
    nanosleep(&moment, NULL);
  }
  must(0, "no page left its place");
}
#else
/* Presses until none of these pages is near. */
__attribute__((unused)) static void send_far(const char* at, size_t pages) {
  for (int i = 0; i < ROUNDS; ++i) {
    press();
    if (resident(at, pages) == 0) return;
  }
  must(0, "memory did not become far");
}
#endif

__attribute__((unused)) static char* far_block(size_t pages, uint64_t seed) {
  char* at = fresh(pages);
  fill(at, pages, seed);
  send_far(at, pages);
  return at;
}

__attribute__((unused)) static int status_of(pid_t child) {
  int status = 0;
  must(waitpid(child, &status, 0) == child, "waitpid");
  return status;
}
