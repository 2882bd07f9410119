// The design of KIT's library (2020), written anew as a baseline: SIGSEGV in the thread, pages of
// 4 KiB, first in first out, write-back. In: map, copy, mremap. Out: copy, map nothing over the
// page. Its linked lists are arrays here, and the far file stays mapped.

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tier_programs.h"

enum { page = 4096 };

static char* region;
static char* far_copy;
static char* leaving;  // where a victim is copied from: no thread can write to it there
static size_t region_bytes;
static unsigned char* resident;
static unsigned char* stored;  // whether the far file has a copy
static uint32_t* queue;
static size_t capacity;
static size_t held;
static size_t oldest;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void evict(void) {
  const uint32_t victim = queue[oldest];
  oldest = (oldest + 1) % capacity;
  --held;
  char* at = region + (size_t)victim * page;
  mremap(at, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, leaving);
  mmap(at, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  memcpy(far_copy + (size_t)victim * page, leaving, page);
  resident[victim] = 0;
  stored[victim] = 1;
}

static void bring_in(uint32_t wanted) {
  if (held == capacity) evict();
  char* fresh = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) abort();  // more mappings than the kernel allows
  if (stored[wanted]) memcpy(fresh, far_copy + (size_t)wanted * page, page);
  if (mremap(fresh, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, region + (size_t)wanted * page) ==
      MAP_FAILED)
    abort();
  resident[wanted] = 1;
  queue[(oldest + held++) % capacity] = wanted;
}

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)context;
  char* at = info->si_addr;
  if (at < region || at >= region + region_bytes) {
    signal(number, SIG_DFL);
    return;
  }
  while (atomic_flag_test_and_set(&busy)) {
  }
  const uint32_t wanted = (uint32_t)((size_t)(at - region) / page);
  if (!resident[wanted]) bring_in(wanted);
  atomic_flag_clear(&busy);
}

void* kit_map(size_t bytes, size_t near, const char* far_file) {
  const int file = open(far_file, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0 || unlink(far_file) != 0 || ftruncate(file, (off_t)bytes) != 0) return NULL;
  region_bytes = bytes;
  capacity = near / page;
  far_copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  region = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  leaving = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  resident = calloc(bytes / page, 1);
  stored = calloc(bytes / page, 1);
  queue = calloc(capacity, sizeof *queue);
  if (far_copy == MAP_FAILED || region == MAP_FAILED || leaving == MAP_FAILED) return NULL;
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  return region;
}
