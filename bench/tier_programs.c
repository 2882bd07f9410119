// What bench/tier.py runs on two tiers: one pattern of accesses, timed apart from its preparation.
//
//   tier_programs PATTERN MIB THREADS SECONDS [NEAR_MIB FAR_FILE]
//
// "text-" before a pattern fills memory with words of a small vocabulary instead of noise, which
// compresses as text does. With the last two, the memory comes from the mprotect-and-SIGSEGV design
// (tier_kit.c). Prints operations, wall and CPU seconds, and the bytes that it used.

#define _GNU_SOURCE
#include "tier_programs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { page = 4096, words_a_page = page / 8 };

struct work {
  const char* pattern;
  uint64_t* memory;
  size_t pages;
  size_t first;  // the pages of this thread, where the pattern divides them
  size_t last;
  double until;
  uint64_t seed;
  uint64_t operations;
  uint64_t sum;
};

double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double cpu(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int of_words;

static void fill_page(uint64_t* at, uint64_t* state) {
  for (size_t i = 0; i < words_a_page; ++i) {
    uint64_t random = next_random(state);
    if (of_words) {
      random %= 64;
      random = next_random(&(uint64_t){random + 1});
    }
    at[i] = random;
  }
}

/// Every page of this thread is written as a whole, for the first time.
static void touch(struct work* work) {
  for (size_t i = work->first; i < work->last; ++i)
    fill_page(work->memory + i * words_a_page, &work->seed);
  work->operations = work->last - work->first;
}

static void read_randomly(struct work* work) {
  const size_t words = work->pages * words_a_page;
  while (now() < work->until) {
    for (int i = 0; i < 64; ++i) work->sum += work->memory[next_random(&work->seed) % words];
    work->operations += 64;
  }
}

/// Reads every word of this thread's pages in order, again and again, or the pages from the last to
/// the first; an operation is a page.
static void scan(struct work* work) {
  const int down = strcmp(work->pattern, "scan-down") == 0;
  while (now() < work->until) {
    for (size_t i = work->first; i < work->last && now() < work->until; ++i) {
      const size_t read = down ? work->last - 1 - (i - work->first) : i;
      const uint64_t* at = work->memory + read * words_a_page;
      for (size_t j = 0; j < words_a_page; ++j) work->sum += at[j];
      ++work->operations;
    }
  }
}

/// Nine of ten accesses go to a tenth of the pages, spread over the memory; every second writes.
static void skew(struct work* work) {
  const size_t hot = work->pages / 10;
  while (now() < work->until) {
    for (int i = 0; i < 64; ++i) {
      const uint64_t random = next_random(&work->seed);
      const size_t chosen =
          random % 10 != 0 ? (random >> 8) % hot * 10 : (random >> 8) % work->pages;
      uint64_t* at = work->memory + chosen * words_a_page + (random >> 48) % words_a_page;
      if (i % 2 == 0) {
        work->sum += *at;
      } else {
        *at = random;
      }
    }
    work->operations += 64;
  }
}

/// Children that write a page and end; an operation is one of them, from its fork until it is
/// reaped.
static void fork_children(struct work* work) {
  while (now() < work->until) {
    const pid_t child = fork();
    if (child == 0) {
      work->memory[0] = work->operations;
      _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child) {
      perror("tier_programs: no child");
      exit(1);
    }
    ++work->operations;
  }
}

static void* run(void* argument) {
  struct work* work = argument;
  if (strcmp(work->pattern, "touch") == 0) touch(work);
  if (strcmp(work->pattern, "random") == 0) read_randomly(work);
  if (strncmp(work->pattern, "scan", 4) == 0) scan(work);
  if (strcmp(work->pattern, "skew") == 0) skew(work);
  if (strcmp(work->pattern, "forks") == 0) fork_children(work);
  return NULL;
}

static void report(uint64_t operations, double wall, double used, size_t bytes, uint64_t sum) {
  printf("operations %llu\nwall %.6f\ncpu %.6f\nbytes %zu\nsum %llu\n",
         (unsigned long long)operations, wall, used, bytes, (unsigned long long)sum);
}

/// A program with a heap: from its start to its end, first touches and all.
static int run_heap(uint64_t (*program)(size_t, double, uint64_t*, size_t*), size_t bytes,
                    double amount) {
  const double wall = now();
  const double used = cpu();
  uint64_t operations = 0;
  size_t allocated = 0;
  const uint64_t sum = program(bytes, amount, &operations, &allocated);
  report(operations, now() - wall, cpu() - used, allocated, sum);
  return 0;
}

int main(int count, char** words) {
  if (count != 5 && count != 7) {
    fprintf(stderr, "usage: %s PATTERN MIB THREADS SECONDS [NEAR_MIB FAR_FILE]\n", words[0]);
    return 2;
  }
  const char* pattern = words[1];
  of_words = strncmp(pattern, "text-", 5) == 0;
  if (of_words) pattern += 5;
  const size_t bytes = (size_t)atol(words[2]) << 20;
  const int threads = atoi(words[3]);
  const double seconds = atof(words[4]);
  if (strcmp(pattern, "hog") == 0) {
    for (volatile uint64_t i = 0;; ++i) {
    }
  }
  if (strcmp(pattern, "switches") == 0) {
    const double wall = now();
    const double used = cpu();
    const uint64_t rounds = switch_threads(seconds);
    report(rounds, now() - wall, cpu() - used, 0, rounds);
    return 0;
  }
  if (strcmp(pattern, "options") == 0) return run_heap(price_options, bytes, seconds);
  if (strcmp(pattern, "itemsets") == 0) return run_heap(mine_itemsets, bytes, seconds);

  uint64_t* memory =
      count == 7 ? kit_map(bytes, (size_t)atol(words[5]) << 20, words[6])
                 : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || memory == NULL) {
    perror("tier_programs: no memory");
    return 1;
  }
  const size_t pages = bytes / page;
  uint64_t seed = 0x9e3779b97f4a7c15U;
  if (strcmp(pattern, "touch") != 0)
    for (size_t i = 0; i < pages; ++i) fill_page(memory + i * words_a_page, &seed);

  static struct work works[64];
  static pthread_t ids[64];
  const double wall = now();
  const double used = cpu();
  for (int i = 0; i < threads; ++i) {
    works[i] = (struct work){pattern,
                             memory,
                             pages,
                             pages * (size_t)i / (size_t)threads,
                             pages * ((size_t)i + 1) / (size_t)threads,
                             wall + seconds,
                             seed + (uint64_t)i * 7919,
                             0,
                             0};
    if (i > 0) pthread_create(&ids[i], NULL, run, &works[i]);
  }
  run(&works[0]);
  for (int i = 1; i < threads; ++i) pthread_join(ids[i], NULL);
  const double taken = now() - wall;
  const double spent = cpu() - used;
  uint64_t operations = 0;
  uint64_t sum = 0;
  for (int i = 0; i < threads; ++i) {
    operations += works[i].operations;
    sum += works[i].sum;
  }
  report(operations, taken, spent, bytes, sum);
  return 0;
}
