/*
 * A pointer chase that times itself: the latency of every level of memory.
 *
 *   gcc -O2 -o chase chase.c
 *   ./chase 16 256 4096                                      this machine
 *   nearfar run model:ddr4-2666 -- ./chase 16 256 4096       the modelled one
 *
 * Arguments are sizes in KiB; the last should be several times the L3. Each load's address is the
 * result of the load before it, so time over loads is latency, with nothing to hide it.
 *
 * What to look at: nanoseconds a load (standard error). On a model they are the model's own
 * cpu.l1.latency, cpu.l2.latency and cpu.l3.latency, and behind the L3 what the same chase takes in
 * `nearfar measure MODEL chase`: the program's clock tells simulated time. With --pages small the
 * larger sizes also pay for their TLB misses.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

static uint64_t state = 1;
static uint64_t random_below(uint64_t bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 32) % bound;
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Links all lines into one circle in random order, each line pointing to the next. */
static void link_lines(char* area, size_t lines) {
  uint32_t* order = malloc(lines * sizeof *order);
  for (size_t i = 0; i < lines; ++i) order[i] = (uint32_t)i;
  for (size_t i = lines - 1; i > 0; --i) {
    const size_t other = random_below(i + 1);
    const uint32_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (size_t i = 0; i < lines; ++i) {
    *(void**)(area + (size_t)order[i] * LINE) = area + (size_t)order[(i + 1) % lines] * LINE;
  }
  free(order);
}

static void** follow(void** at, size_t loads) {
  for (size_t i = 0; i < loads; i += 8) {
    at = *at, at = *at, at = *at, at = *at, at = *at, at = *at, at = *at, at = *at;
  }
  return at;
}

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const size_t bytes = strtoull(words[i], NULL, 10) << 10;
    const size_t lines = bytes / LINE;
    if (lines < 16) return fprintf(stderr, "chase: expected sizes in KiB\n"), 2;
    /* Aligned, so that huge pages can hold all of it. */
    const size_t room = bytes + 2 * (size_t)HUGE_PAGE;
    char* const mapped = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return perror("chase"), 1;
    char* const area = mapped + (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE);
    link_lines(area, lines);
    /* Once around before the clock runs; then once more, and some. */
    void** const warm = follow((void**)area, lines);
    const size_t loads = (lines < 4096 ? 4096 : lines) + 1000;
    const double begin = now_ns();
    void** const at = follow(warm, loads);
    const double ns = (now_ns() - begin) / (double)loads;
    fprintf(stderr, "%zu KiB: %.3f ns\n", bytes >> 10, ns);
    printf("%zu KiB ends at line %zu\n", bytes >> 10, (size_t)((char*)at - area) / LINE);
    munmap(mapped, room);
  }
  return 0;
}
