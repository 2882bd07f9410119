/* Pages that come in write-protected, as no thread has changed them for a while: a write to
 * them, by an instruction, in the kernel or past it, is not lost when they leave. */

#include "hazard.h"
// after hazard.h, which asks for all of libc
#include "../ring.h"
#include "own_calls.h"

#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/uio.h>

enum { PAGES = 32, LENGTH = PAGES * PAGE, READ_ONLY = 448 };
enum { set_memory_merge = 67 }; /* PR_SET_MEMORY_MERGE, since Linux 6.4 */
static struct ring ring;
static atomic_int ended;

static void look_at(const char* at, size_t page, uint64_t seed) {
  must(*(const uint64_t*)(const void*)(at + page * PAGE) == word(seed, page * WORDS), "a page");
}

enum { FEWEST_PARTS = 9, ALL_PARTS = READ_ONLY / PAGES };

/* Each page, if there are any, and of other memory so many parts by turns that read-ahead can
 * follow none of them. */
static void look_at_both(const char* at, uint64_t seed, const char* other, size_t parts) {
  for (size_t page = PAGES; page-- > 0;) {
    if (at != NULL) look_at(at, page, seed);
    for (size_t part = 0; part < parts; ++part) look_at(other, part * PAGES + page, 50);
  }
}

/* Makes pages leave and come back unchanged, and then again: that time they come protected, as other
 * pages do that no thread writes to. */
static void guard(const char* at, uint64_t seed) {
  static char* others[2];
  for (int i = 0; i < 2; ++i)
    if (others[i] == NULL) others[i] = far_block(READ_ONLY, 50);
  send_far(at, PAGES);
  for (int i = 0; i < 8; ++i) look_at_both(i == 0 ? at : NULL, seed, others[i % 2], ALL_PARTS);
  send_far(at, PAGES);
  look_at_both(at, seed, others[0], FEWEST_PARTS);
}

static void check_here_and_far(const char* what, const char* at, uint64_t seed) {
  check(what, at, PAGES, seed);
  send_far(at, PAGES);
  check(what, at, PAGES, seed);
}

static void write_by_kernel(char* at) {
  char* from = fresh(PAGES);
  const int file = memfd_create("file", 0);
  must(file >= 0, "memfd_create");
  fill(from, PAGES, 3);
  must(pwrite(file, from, LENGTH, 0) == LENGTH, "pwrite");
  must(pread(file, at, LENGTH, 0) == LENGTH, "pread");
  check_here_and_far("what read(2) has written", at, 3);
  guard(at, 3);
  fill(from, PAGES, 4);
  const struct iovec here = {from, LENGTH};
  const struct iovec there = {at, LENGTH};
  must(process_vm_writev(getpid(), &here, 1, &there, 1, 0) == LENGTH, "process_vm_writev");
  check_here_and_far("what process_vm_writev has written", at, 4);
  must(munmap(from, LENGTH) == 0 && close(file) == 0, "munmap");
}

static void write_by_device(char* at, uint64_t seed) {
  ring_start(&ring);
  if (ring.descriptor < 0) return;
  must(ring_register(&ring, at, LENGTH) == 0, "registering a buffer");
  press();
  const int file = memfd_create("file", 0);
  char* from = fresh(PAGES);
  fill(from, PAGES, seed + 1);
  must(file >= 0 && pwrite(file, from, LENGTH, 0) == LENGTH, "pwrite");
  must(ring_do(&ring, IORING_OP_READ_FIXED, file, at, LENGTH) == LENGTH, "a registered read");
  press();
  check("what a device has written", at, PAGES, seed + 1);
  must(ring_give_back(&ring) == 0, "giving a buffer back");
  check_here_and_far("what a device had written", at, seed + 1);
  must(munmap(from, LENGTH) == 0 && close(file) == 0, "munmap");
  fill(at, PAGES, seed);
}

static void write_after_fork(char* at, uint64_t seed) {
  const pid_t child = fork();
  must(child >= 0, "fork");
  fill(at, PAGES, child == 0 ? seed + 1 : seed + 2);
  check_here_and_far("what was written after a fork", at, child == 0 ? seed + 1 : seed + 2);
  if (child == 0) _exit(0);
  must(status_of(child) == 0, "the child");
}

/* A page is shared with a child, and leaves. */
static void leave_after_fork(const char* at, uint64_t seed) {
  int ends[2];
  char end = 0;
  must(pipe(ends) == 0, "pipe");
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    must(close(ends[1]) == 0 && read(ends[0], &end, 1) == 0, "read");
    check("what a child has when its parent's has left", at, PAGES, seed);
    _exit(0);
  }
  send_far(at, PAGES);
  check("what was shared with a child", at, PAGES, seed);
  must(close(ends[0]) == 0 && close(ends[1]) == 0 && status_of(child) == 0, "the child");
}

static void* press_often(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) press();
  atomic_store(&ended, 1);
  return unused;
}

/* Pages that leave and come all the time, none beside another, and of which each is mostly read. */
static void write_while_pages_leave(void) {
  enum { APART = 8, WORDS_APART = APART * WORDS };
  static uint64_t expected[PAGES];
  _Atomic(uint64_t)* words = (_Atomic(uint64_t)*)(void*)fresh((size_t)PAGES * APART);
  uint64_t draw = 1;
  pthread_t thread;
  must(pthread_create(&thread, NULL, press_often, NULL) == 0, "pthread_create");
  while (!atomic_load(&ended)) {
    draw = draw * 6364136223846793005u + 1442695040888963407u;
    const size_t page = draw >> 33U & (PAGES - 1);
    if ((draw >> 50U) % 8192 == 0) {
      ++expected[page];
      atomic_fetch_add(&words[page * WORDS_APART], 1);
    }
    must(atomic_load(&words[page * WORDS_APART]) == expected[page], "a count was lost");
  }
  pthread_join(thread, NULL);
}

int main(void) {
  char* at = far_block(PAGES, 1);
  guard(at, 1);
  fill(at, PAGES, 2);
  check_here_and_far("what was stored", at, 2);
  guard(at, 2);
  write_by_kernel(at);
  guard(at, 4);
  write_by_device(at, 4);
  guard(at, 4);
  write_after_fork(at, 4);
  guard(at, 6);
  leave_after_fork(at, 6);

  guard(at, 6);
  must(mprotect(at, LENGTH, PROT_READ) == 0, "mprotect");
  check("what may only be read", at, PAGES, 6);
  must(mprotect(at, LENGTH, PROT_READ | PROT_WRITE) == 0, "mprotect");
  fill(at, PAGES, 7);
  check_here_and_far("what may be written again", at, 7);

  guard(at, 7);
  must(mlock(at, LENGTH) == 0 || errno == ENOMEM || errno == EPERM, "mlock");
  fill(at, PAGES, 8);
  must(munlock(at, LENGTH) == 0, "munlock");
  check_here_and_far("what was locked", at, 8);

  guard(at, 8);
  at = mremap(at, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_FIXED, fresh(PAGES));
  must(at != MAP_FAILED, "mremap");
  fill(at, PAGES, 9);
  check_here_and_far("what has moved", at, 9);

  guard(at, 9);
  must(madvise(at, LENGTH, MADV_DONTNEED) == 0, "madvise");
  check("what was given back", at, PAGES, 0);
  fill(at, PAGES, 10);
  check_here_and_far("what was given back before", at, 10);

  guard(at, 10);
  advise_past(at, PAGES, MADV_DONTNEED);
  check("what was given back past libc", at, PAGES, 0);
  fill(at, PAGES, 11);
  check_here_and_far("what was given back before, past libc", at, 11);

  write_while_pages_leave();

  char* freed = far_block(PAGES, 12);
  guard(freed, 12);
  advise_past(freed, PAGES, MADV_FREE);
  fill(freed, PAGES, 13);
  check("what the kernel may take and has not", freed, PAGES, 13);
  errno = 0;
  must(prctl(set_memory_merge, 1, 0, 0, 0) == -1 && errno == EINVAL, "pages may be merged");
  errno = 0;
  must(syscall(SYS_prctl, set_memory_merge, 1, 0, 0, 0) == -1 && errno == EINVAL,
       "pages may be merged by number");

  fill(at, PAGES, 12);
  guard(at, 12);
  at =
      remap_past(at, PAGES, PAGES, MREMAP_MAYMOVE | MREMAP_FIXED, map_past(NULL, PAGES, PROT_NONE));
  fill(at, PAGES, 13);
  check("what has moved past libc", at, PAGES, 13);
  puts(ring.descriptor < 0 ? "no io_uring here" : "ok");
  return 0;
}
