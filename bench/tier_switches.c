// What it takes to get to another thread on the same processor and back, of which there is one for
// most faults that a pager's thread serves.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tier_programs.h"

static int there, back;

static uint64_t wait_for(int event) {
  uint64_t value = 0;
  if (read(event, &value, sizeof value) != sizeof value) abort();
  return value;
}

static void hand_over(int event, uint64_t value) {
  if (write(event, &value, sizeof value) != sizeof value) abort();
}

// Until it is handed a 2.
static void* answer(void* nothing) {
  while (wait_for(there) == 1) hand_over(back, 1);
  return nothing;
}

uint64_t switch_threads(double seconds) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  there = eventfd(0, EFD_CLOEXEC);
  back = eventfd(0, EFD_CLOEXEC);
  pthread_t other;
  if (sched_setaffinity(0, sizeof one, &one) != 0 || there < 0 || back < 0 ||
      pthread_create(&other, NULL, answer, NULL) != 0) {
    perror("tier_programs: switches");
    exit(1);
  }
  uint64_t rounds = 0;
  for (const double until = now() + seconds; now() < until; ++rounds) {
    hand_over(there, 1);
    wait_for(back);
  }
  hand_over(there, 2);
  pthread_join(other, NULL);
  return rounds;
}
