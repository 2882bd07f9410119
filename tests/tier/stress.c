/* Does everything to memory that a program may do, on several threads, and knows at any time what
 * every page has to hold: stress SEED OPERATIONS|SECONDSs THREADS PAGES [unpinned] [large].
 * Unpinned, no device writes to memory by itself (O_DIRECT, registered buffers). Each thread has
 * blocks of its own, PAGES in all at most, of up to 96, or if large 1536 pages; what they hold
 * follows from a number a page, kept in static memory, which is not managed. Prints "ok", or what differs and where; then the status is 1. */

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
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ring.h"

enum { PAGE = 4096, WORDS = PAGE / 8, BLOCKS = 64, LONGEST = 1536, THREADS = 8 };

struct block {
  char *at;
  size_t pages;
  int mapped; /* by mmap; otherwise by malloc */
  uint64_t seeds[LONGEST]; /* 0: the page holds zeros */
};

struct worker {
  pthread_t thread;
  uint64_t random;
  size_t operations;
  size_t budget;
  size_t used;
  struct block blocks[BLOCKS];
  int pipe[2];
  int file;        /* in memory */
  int direct_file; /* past the page cache, if the file system can; -1 otherwise */
  struct ring ring;
};

static struct worker workers[THREADS];
static char *touched_by_signals;
static volatile sig_atomic_t signals;
static time_t deadline; /* 0: none */
static size_t longest = 96;

static void fail(const char *what, const void *at, uint64_t found, uint64_t expected) {
  fprintf(stderr, "%s at %p: found %llx, expected %llx\n", what, at, (unsigned long long)found,
          (unsigned long long)expected);
  _exit(1);
}

static void must(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

static uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15u;
  return x ^ x >> 29;
}

static uint64_t draw(struct worker *w) { return mix(w->random += 0x632be59bd9b4e019u); }
static size_t below(struct worker *w, size_t n) { return (size_t)(draw(w) % n); }

static uint64_t word(uint64_t seed, size_t i) { return seed == 0 ? 0 : mix(seed + i); }

static void fill(struct worker *w, struct block *b, size_t page) {
  uint64_t *at = (uint64_t *)(void *)(b->at + page * PAGE);
  const uint64_t seed = b->seeds[page] = draw(w) | 1;
  for (size_t i = 0; i < WORDS; ++i) at[i] = word(seed, i);
}

static void check_page(const char *what, const char *page, uint64_t seed) {
  const uint64_t *at = (const uint64_t *)(const void *)page;
  for (size_t i = 0; i < WORDS; ++i)
    if (at[i] != word(seed, i)) fail(what, &at[i], at[i], word(seed, i));
}

static void check(const char *what, const struct block *b) {
  for (size_t i = 0; i < b->pages; ++i) check_page(what, b->at + i * PAGE, b->seeds[i]);
}

static void make(struct worker *w, struct block *b) {
  const size_t pages = 1 + below(w, longest);
  if (w->used + pages > w->budget) return;
  b->mapped = below(w, 3) != 0;
  b->pages = pages;
  b->at = b->mapped ? mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                    : malloc(pages * PAGE);
  must(b->at != MAP_FAILED && b->at != NULL, "making a block");
  w->used += pages;
  if (b->mapped) check("fresh memory", b);
  for (size_t i = 0; i < pages; ++i)
    if (!b->mapped || below(w, 4) != 0) fill(w, b, i);
}

static void drop(struct worker *w, struct block *b) {
  check("a block at its end", b);
  if (b->mapped) {
    must(munmap(b->at, b->pages * PAGE) == 0, "munmap");
  } else {
    free(b->at);
  }
  w->used -= b->pages;
  memset(b->seeds, 0, b->pages * sizeof b->seeds[0]);
  b->at = NULL;
}

static void resize(struct worker *w, struct block *b) {
  const size_t pages = 1 + below(w, longest);
  if (pages > b->pages && w->used + pages - b->pages > w->budget) return;
  char *at = b->mapped ? mremap(b->at, b->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE)
                       : realloc(b->at, pages * PAGE);
  must(at != MAP_FAILED && at != NULL, "resizing");
  const size_t before = b->pages;
  b->at = at;
  w->used = w->used - before + pages;
  b->pages = pages < before ? pages : before;
  check("a resized block", b);
  b->pages = pages;
  for (size_t i = before; i < pages; ++i) {
    if (b->mapped) check_page("memory behind a grown block", b->at + i * PAGE, 0);
    fill(w, b, i);
  }
  if (pages < before) memset(b->seeds + pages, 0, (before - pages) * sizeof b->seeds[0]);
}

/* Onto an address of our choice, over a mapping that is there. */
static void move_onto(struct block *b) {
  if (!b->mapped) return;
  char *target = mmap(NULL, b->pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
  must(target != MAP_FAILED, "mmap");
  memset(target, 0x5a, b->pages * PAGE / 2 + 1);
  char *at = mremap(b->at, b->pages * PAGE, b->pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  must(at == target, "mremap onto a mapping");
  b->at = at;
  check("a moved block", b);
}

static void discard(struct worker *w, struct block *b) {
  if (!b->mapped) return;
  const size_t first = below(w, b->pages);
  const size_t count = 1 + below(w, b->pages - first);
  if (below(w, 2) == 0) {
    must(madvise(b->at + first * PAGE, count * PAGE, MADV_DONTNEED) == 0, "madvise");
  } else {
    must(mmap(b->at + first * PAGE, count * PAGE, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == b->at + first * PAGE, "mmap over");
  }
  memset(b->seeds + first, 0, count * sizeof b->seeds[0]);
  check("a block with a hole", b);
}

static void protect(struct worker *w, struct block *b) {
  if (!b->mapped) return;
  must(mprotect(b->at, b->pages * PAGE, PROT_READ) == 0, "mprotect");
  check("a read-only block", b);
  must(mprotect(b->at, b->pages * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
  fill(w, b, below(w, b->pages));
}

/* The kernel reads one page of the block and writes another. */
static void through_kernel(struct worker *w, struct block *b) {
  const size_t from = below(w, b->pages);
  const size_t to = below(w, b->pages);
  must(write(w->pipe[1], b->at + from * PAGE, PAGE) == PAGE, "write");
  must(read(w->pipe[0], b->at + to * PAGE, PAGE) == PAGE, "read");
  b->seeds[to] = b->seeds[from];
  check("a block that the kernel wrote to", b);
}

/* Several pages at once, from and to pieces that are apart. */
static void through_vectors(struct worker *w, struct block *b) {
  const size_t half = b->pages / 2;
  if (half == 0) return;
  const struct iovec from[2] = {{b->at, half * PAGE}, {b->at + half * PAGE, PAGE}};
  const ssize_t length = (ssize_t)((half + 1) * PAGE);
  must(pwritev(w->file, from, 2, 0) == length, "pwritev");
  const struct iovec to[2] = {{b->at + (b->pages - half) * PAGE, half * PAGE}, {b->at, PAGE}};
  const uint64_t behind = b->seeds[half];
  uint64_t seeds[LONGEST];
  memcpy(seeds, b->seeds, sizeof seeds);
  must(preadv(w->file, to, 2, 0) == length, "preadv");
  memcpy(b->seeds + b->pages - half, seeds, half * sizeof seeds[0]);
  b->seeds[0] = behind;
  check("a block that vectors wrote to", b);
}

static void through_device(struct worker *w, struct block *b) {
  const ssize_t length = (ssize_t)(b->pages * PAGE);
  if (w->direct_file < 0 || (uintptr_t)b->at % PAGE != 0) return;
  must(pwrite(w->direct_file, b->at, (size_t)length, 0) == length, "a direct write");
  memset(b->at, 0x77, (size_t)length);
  must(pread(w->direct_file, b->at, (size_t)length, 0) == length, "a direct read");
  check("a block that a device wrote to", b);
}

/* The kernel may give a transfer up (ECANCELED): it must be tried again. */
static void transfer(struct worker *w, struct block *b, int operation) {
  int done = -EINTR;
  while (done == -EINTR || done == -ECANCELED)
    done = ring_do(&w->ring, operation, w->file, b->at, b->pages * PAGE);
  if (done != (int)(b->pages * PAGE))
    fail("a transfer of a registered buffer", b->at, (uint64_t)(int64_t)done, b->pages * PAGE);
}

/* The kernel holds on to the block's pages, and writes to them while others leave. */
static void through_pins(struct worker *w, struct block *b) {
  const size_t length = b->pages * PAGE;
  if (w->ring.descriptor < 0) return;
  must(ring_register(&w->ring, b->at, length) == 0, "registering a buffer");
  transfer(w, b, IORING_OP_WRITE_FIXED);
  for (size_t i = 0; i < BLOCKS; ++i)
    if (w->blocks[i].at != NULL && &w->blocks[i] != b) check("a block beside pins", &w->blocks[i]);
  memset(b->at, 0x77, length);
  transfer(w, b, IORING_OP_READ_FIXED);
  check("a block that is pinned", b);
  must(ring_give_back(&w->ring) == 0, "giving a buffer back");
}

static void lock(struct worker *w, struct block *b) {
  const size_t count = 1 + below(w, b->pages < 16 ? b->pages : 16);
  if (mlock(b->at, count * PAGE) != 0) return; /* beyond the user's limit */
  fill(w, b, below(w, count));
  check("a block that is locked in part", b);
  must(munlock(b->at, count * PAGE) == 0, "munlock");
}

static void advise(struct worker *w, struct block *b) {
  /* None that would split the mapping, which the kernel's own mremap refuses then. */
  const int advice[] = {MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ,
                        MADV_POPULATE_WRITE};
  if (!b->mapped) return;
  must(madvise(b->at, b->pages * PAGE, advice[below(w, 5)]) == 0, "advice");
  check("a block with advice", b);
}

static void by_number(struct worker *w, struct block *b) {
  if (!b->mapped) return;
  const size_t first = below(w, b->pages);
  const size_t count = 1 + below(w, b->pages - first);
  must(syscall(SYS_madvise, b->at + first * PAGE, count * PAGE, MADV_DONTNEED) == 0, "madvise");
  memset(b->seeds + first, 0, count * sizeof b->seeds[0]);
  check("a block with a hole made by number", b);
  must(syscall(SYS_madvise, b->at + first * PAGE, PAGE, MADV_FREE) == 0, "MADV_FREE");
  fill(w, b, first); /* it may have kept its contents, or not */
}

/* As a debugger reads another process. */
static void looked_at(struct worker *w, struct block *b) {
  char copy[PAGE];
  const size_t page = below(w, b->pages);
  const struct iovec here = {copy, PAGE};
  const struct iovec there = {b->at + page * PAGE, PAGE};
  must(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == PAGE, "process_vm_readv");
  check_page("what a debugger sees", copy, b->seeds[page]);
}

/* A child that libc does not make has none of the memory; its parent keeps all of it. */
static void forked_raw(struct worker *w) {
  const pid_t child = (pid_t)syscall(SYS_fork);
  must(child >= 0, "a raw fork");
  if (child == 0) syscall(SYS_exit_group, 3);
  int status = 0;
  must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3, "a raw child");
  struct block *b = &w->blocks[below(w, BLOCKS)];
  if (b->at != NULL) check("a block after a raw fork", b);
}

static void in_child(struct worker *w) {
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < BLOCKS; ++i) {
      struct block *b = &w->blocks[i];
      if (b->at == NULL) continue;
      check("a block in a child", b);
      if (below(w, 2) == 0) fill(w, b, below(w, b->pages));
      if (below(w, 8) == 0) resize(w, b);
      if (below(w, 8) == 0) drop(w, b);
    }
    if (round == 0 && below(w, 4) == 0) {
      const pid_t grandchild = fork();
      must(grandchild >= 0, "fork in a child");
      if (grandchild == 0) continue;
      int status = 0;
      must(waitpid(grandchild, &status, 0) == grandchild, "waitpid");
      if (status != 0) _exit(1);
    }
  }
  _exit(0);
}

static void forked(struct worker *w) {
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) in_child(w);
  for (int i = 0; i < 8; ++i) { /* what the parent changes is not the child's business */
    struct block *b = &w->blocks[below(w, BLOCKS)];
    if (b->at != NULL) fill(w, b, below(w, b->pages));
  }
  int status = 0;
  must(waitpid(child, &status, 0) == child, "waitpid");
  if (status != 0) fail("a child's status", NULL, (uint64_t)status, 0);
}

static void *work(void *argument) {
  struct worker *w = argument;
  for (size_t n = 0; deadline != 0 ? time(NULL) < deadline : n < w->operations; ++n) {
    struct block *b = &w->blocks[below(w, BLOCKS)];
    if (b->at == NULL) {
      make(w, b);
      continue;
    }
    switch (below(w, 80)) {
      case 0: forked(w); break;
      case 1: case 2: case 3: case 4: case 5: case 6: drop(w, b); break;
      case 7: case 8: case 9: case 10: case 11: resize(w, b); break;
      case 12: case 13: case 14: move_onto(b); break;
      case 15: case 16: case 17: case 18: discard(w, b); break;
      case 19: case 20: case 21: protect(w, b); break;
      case 22: case 23: case 24: case 25: through_kernel(w, b); break;
      case 26: case 27: case 28: through_vectors(w, b); break;
      case 29: case 30: through_device(w, b); break;
      case 31: through_pins(w, b); break;
      case 32: case 33: lock(w, b); break;
      case 34: case 35: case 36: advise(w, b); break;
      case 37: case 38: by_number(w, b); break;
      case 39: case 40: looked_at(w, b); break;
      case 41: forked_raw(w); break;
      default:
        if (below(w, 2) == 0) {
          check("a block", b);
        } else {
          fill(w, b, below(w, b->pages));
        }
    }
  }
  for (size_t i = 0; i < BLOCKS; ++i)
    if (w->blocks[i].at != NULL) drop(w, &w->blocks[i]);
  return NULL;
}

static void on_signal(int number) {
  (void)number;
  ++signals;
  for (size_t page = 0; page < 16; ++page) touched_by_signals[page * PAGE] = (char)page;
}

/* A timer whose handler runs on a managed stack and writes to managed pages. */
static void start_signals(void) {
  const int access = PROT_READ | PROT_WRITE;
  const size_t size = 64 * 1024;
  stack_t stack = {.ss_sp = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                   .ss_size = size};
  touched_by_signals = mmap(NULL, 16 * PAGE, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(stack.ss_sp != MAP_FAILED && touched_by_signals != MAP_FAILED, "mmap");
  must(sigaltstack(&stack, NULL) == 0, "sigaltstack");
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
  must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
  const struct itimerval often = {{0, 5000}, {0, 5000}};
  must(setitimer(ITIMER_REAL, &often, NULL) == 0, "setitimer");
}

int main(int count, char **arguments) {
  must(count >= 5, "stress SEED OPERATIONS|SECONDSs THREADS PAGES [unpinned] [large]");
  int unpinned = 0;
  for (int i = 5; i < count; ++i) {
    if (strcmp(arguments[i], "unpinned") == 0) unpinned = 1;
    if (strcmp(arguments[i], "large") == 0) longest = LONGEST;
  }
  const uint64_t seed = strtoull(arguments[1], NULL, 10);
  char *unit = NULL;
  const size_t operations = strtoull(arguments[2], &unit, 10);
  if (*unit == 's') deadline = time(NULL) + (time_t)operations;
  const size_t threads = strtoull(arguments[3], NULL, 10);
  const size_t pages = strtoull(arguments[4], NULL, 10);
  must(threads >= 1 && threads <= THREADS, "threads");
  start_signals();
  /* Where the system gives huge pages to all, what is not managed is to take no more than it uses. */
  const uintptr_t first = ((uintptr_t)workers + PAGE - 1) / PAGE * PAGE;
  const size_t own = (uintptr_t)(workers + THREADS) - first;
  must(madvise((void *)first, own / PAGE * PAGE, MADV_NOHUGEPAGE) == 0, "madvise");
  pthread_attr_t small;
  must(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 512 << 10) == 0, "stack");
  for (size_t i = 0; i < threads; ++i) {
    struct worker *w = &workers[i];
    w->random = mix(seed * THREADS + i);
    w->operations = operations / threads;
    w->budget = pages / threads;
    must(pipe(w->pipe) == 0, "pipe");
    must((w->file = memfd_create("stress", 0)) >= 0, "memfd_create");
    w->direct_file = unpinned ? -1 : open(".", O_TMPFILE | O_RDWR | O_DIRECT, 0600);
    w->ring.descriptor = -1;
    if (!unpinned) ring_start(&w->ring);
    must(i == 0 || pthread_create(&w->thread, &small, work, w) == 0, "pthread_create");
  }
  work(&workers[0]);
  for (size_t i = 1; i < threads; ++i) must(pthread_join(workers[i].thread, NULL) == 0, "join");
  puts("ok");
  return 0;
}
