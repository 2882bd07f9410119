#pragma once

/*
 * What every program of the set shares: the work is cut into steps, and only some of them are
 * measured. A program defines set_up() and step(), and its main() is MEASURED_MAIN(set_up, step).
 *
 *   PROGRAM WARM STEPS
 *
 * sets up, takes WARM steps that are not measured, then STEPS that are. Both natively and on a
 * simulated machine the same steps are timed, on data of the same size; a sample is fewer steps.
 *
 * Standard output has one line, which depends on the work alone: the steps and a checksum. Standard
 * error has one line a figure, of the measured steps: the thread's time on the processor (not the
 * time that passed), the instructions if there are counters, the page faults; and the bytes of
 * memory that the process has then, and has on huge pages.
 *
 * A step makes no system call and touches no new page, so the thread's time is time in user mode.
 * getrusage() would divide it by timer ticks, which are too coarse for a sample.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <nearfar.h>

/* The inputs: a fixed sequence, the same on every machine (splitmix64, Steele and others 2014). */
static inline uint64_t scrambled(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

static uint64_t random_state_ = 1;
static inline uint64_t random_word(void) {
  random_state_ += 0x9e3779b97f4a7c15u;
  return scrambled(random_state_);
}

static inline uint32_t random_below(uint32_t bound) {
  return (uint32_t)(((random_word() >> 32) * bound) >> 32);
}

/* Memory whose pages have all been touched, so that no step meets a page fault. */
static inline void* memory_of(size_t bytes) {
  void* const area = malloc(bytes);
  if (area == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  /* Or compilers make it calloc(), which touches nothing. */
  __asm__ volatile("" : : "r"(area) : "memory");
  memset(area, 0, bytes);
  return area;
}

static inline uint64_t processor_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline uint64_t page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

static inline void tell(const char* name, uint64_t value) {
  fprintf(stderr, "%s %llu\n", name, (unsigned long long)value);
}

/* A counter of this thread's instructions in user mode; -1 where there is none. */
static inline int instruction_counter(void) {
  struct perf_event_attr wanted = {.type = PERF_TYPE_HARDWARE, .size = sizeof wanted};
  wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0);
}

static inline uint64_t counted(int counter) {
  uint64_t count = 0;
  return counter >= 0 && read(counter, &count, sizeof count) == sizeof count ? count : 0;
}

/* What the kernel says of the pages of this process, in bytes. */
static inline uint64_t resident(const char* field) {
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  if (file == NULL) return 0;
  char line[256];
  uint64_t kib = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, field, strlen(field)) == 0) kib = strtoull(line + strlen(field), NULL, 10);
  }
  fclose(file);
  return kib << 10;
}

static inline int measured_main(int count, char** words, void (*set_up)(void),
                                uint64_t (*step)(uint64_t)) {
  char* end[2] = {NULL, NULL};
  const uint64_t warm = count == 3 ? strtoull(words[1], &end[0], 10) : 0;
  const uint64_t steps = count == 3 ? strtoull(words[2], &end[1], 10) : 0;
  if (steps == 0 || *end[0] != 0 || *end[1] != 0) {
    fprintf(stderr, "expected two numbers: the steps before those that are measured, and these\n");
    return 2;
  }
  set_up();
  uint64_t sum = 0;
  const int counter = instruction_counter();
  /* Of several regions the last one counts: the first fills caches, TLBs and predictors. */
  NEARFAR_ROI_BEGIN();
  for (uint64_t i = 0; i < warm; ++i) sum = sum * 31 + step(i);
  NEARFAR_ROI_END();
  const uint64_t faults = page_faults();
  NEARFAR_ROI_BEGIN();
  const uint64_t instructions = counted(counter);
  const uint64_t begin = processor_ns();
  for (uint64_t i = warm; i < warm + steps; ++i) sum = sum * 31 + step(i);
  const uint64_t took = processor_ns() - begin;
  const uint64_t executed = counted(counter) - instructions;
  NEARFAR_ROI_END();
  printf("%llu steps, checksum %016llx\n", (unsigned long long)(warm + steps),
         (unsigned long long)sum);
  tell("processor_ns", took);
  tell("instructions", executed);
  tell("page_faults", page_faults() - faults);
  tell("bytes", resident("Anonymous:"));
  tell("huge_bytes", resident("AnonHugePages:"));
  return 0;
}

#define MEASURED_MAIN(set_up, step) \
  int main(int count, char** words) { return measured_main(count, words, set_up, step); }
