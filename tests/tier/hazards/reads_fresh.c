/* Memory that is read before it is ever written takes no near memory, and what is done to it then
 * is as it would be without: reads_fresh FILE. */

#include "hazard.h"

enum { READ = 16384 };

static char* read_first(size_t pages) {
  char* at = fresh(pages);
  check("memory never touched", at, pages, 0);
  return at;
}

/* In KiB. */
static size_t anonymous(void) { return in_smaps("Anonymous: %zu kB"); }

static void takes_no_memory(void) {
  const size_t before = anonymous();
  char* at = read_first(READ);
  must(anonymous() < before + 256, "memory that was read takes memory");
  must(munmap(at, (size_t)READ * PAGE) == 0, "munmap");
}

static void is_written_and_leaves(void) {
  char* at = read_first(HELD);
  fill(at, HELD / 2, 1);
  send_far(at, HELD / 2);
  check("what was written", at, HELD / 2, 1);
  check("what was not", at + HELD / 2 * PAGE, HELD / 2, 0);
}

static void is_shared_with_a_child(void) {
  char* at = read_first(HELD);
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    check("memory of the parent's", at, HELD, 0);
    fill(at, HELD, 2);
    press();
    check("what the child wrote", at, HELD, 2);
    check("memory that the child alone reads", read_first(HELD), HELD, 0);
    _exit(0);
  }
  fill(at, HELD / 2, 3);
  must(status_of(child) == 0, "the child");
  check("what the parent wrote", at, HELD / 2, 3);
  check("what the child alone wrote", at + HELD / 2 * PAGE, HELD / 2, 0);
}

static void is_moved(void) {
  char* at = read_first(2 * HELD);
  fill(at, HELD, 4); /* half of it is moved as it was read */
  char* moved = mremap(at, 2 * (size_t)HELD * PAGE, 4 * (size_t)HELD * PAGE, MREMAP_MAYMOVE);
  must(moved != MAP_FAILED, "mremap");
  check("what was moved", moved, HELD, 4);
  check("what was moved unwritten", moved + HELD * PAGE, 3 * HELD, 0);
  fill(moved, 4 * HELD, 5);
  press();
  check("what was written there", moved, 4 * HELD, 5);
}

static void is_given_back(void) {
  char* at = read_first(HELD);
  must(madvise(at, (size_t)HELD / 2 * PAGE, MADV_DONTNEED) == 0, "MADV_DONTNEED");
  check("memory given back", at, HELD, 0);
  fill(at, HELD, 6);
  must(madvise(at, (size_t)HELD * PAGE, MADV_DONTNEED) == 0, "MADV_DONTNEED");
  check("memory given back after it was written", at, HELD, 0);
  must(mprotect(at, (size_t)HELD * PAGE, PROT_READ) == 0, "mprotect");
  must(mprotect(at, (size_t)HELD * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
  fill(at, HELD, 7);
  check("memory that was read-only", at, HELD, 7);
}

static void is_locked(void) {
  char* at = read_first(HELD);
  must(mlock(at, (size_t)HELD * PAGE) == 0, "mlock");
  press();
  fill(at, HELD, 8);
  press();
  must(resident(at, HELD) == HELD, "locked memory left");
  check("locked memory", at, HELD, 8);
  must(munlock(at, (size_t)HELD * PAGE) == 0, "munlock");
}

static void is_read_to_by_a_device(const char* name) {
  const int file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  if (file < 0 && errno == EINVAL) return; /* not there */
  must(file >= 0, "open");
  char* from = fresh(HELD);
  fill(from, HELD, 9);
  const ssize_t length = (ssize_t)HELD * PAGE;
  must(pwrite(file, from, (size_t)length, 0) == length, "a direct write");
  char* to = read_first(HELD);
  must(pread(file, to, (size_t)length, 0) == length, "a direct read");
  check("what was read directly", to, HELD, 9);
  char* zeros = read_first(HELD);
  must(pwrite(file, zeros, (size_t)length, 0) == length, "a direct write of zeros");
  must(pread(file, to, (size_t)length, 0) == length, "a direct read");
  check("zeros that were read directly", to, HELD, 0);
  close(file);
}

static void is_filled_by_the_kernel(void) {
  int ends[2];
  must(pipe(ends) == 0, "pipe");
  char* from = fresh(1);
  fill(from, 1, 10);
  char* to = read_first(1);
  must(write(ends[1], from, PAGE) == PAGE && read(ends[0], to, PAGE) == PAGE, "a pipe");
  check("what came through a pipe", to, 1, 10);
}

int main(int count, char** arguments) {
  must(count == 2, "reads_fresh FILE");
  takes_no_memory();
  is_written_and_leaves();
  is_shared_with_a_child();
  is_moved();
  is_given_back();
  is_locked();
  is_read_to_by_a_device(arguments[1]);
  is_filled_by_the_kernel();
  takes_no_memory();
  puts("ok");
  return 0;
}
