/* A device reads and writes far pages without the page cache between (O_DIRECT), while another
 * thread keeps memory short: direct_io FILE. */

#include "hazard.h"

#include <stdatomic.h>

static atomic_int ended;

static void* keep_pressing(void* unused) {
  while (!atomic_load(&ended)) press();
  return unused;
}

int main(int count, char** arguments) {
  must(count == 2, "direct_io FILE");
  const int file = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  if (file < 0 && errno == EINVAL) {
    puts("no direct input and output here");
    return 0;
  }
  must(file >= 0, "open");
  char* from = far_block(HELD, 1);
  char* to = far_block(HELD, 2);
  pthread_t thread;
  must(pthread_create(&thread, NULL, keep_pressing, NULL) == 0, "pthread_create");
  const ssize_t length = (ssize_t)HELD * PAGE;
  for (uint64_t seed = 3; seed < 40; ++seed) {
    fill(from, HELD, seed);
    must(pwrite(file, from, (size_t)length, 0) == length, "a direct write");
    must(pread(file, to, (size_t)length, 0) == length, "a direct read");
    check("what was read directly", to, HELD, seed);
    check("what was written directly", from, HELD, seed);
  }
  atomic_store(&ended, 1);
  pthread_join(thread, NULL);
  puts("ok");
  return 0;
}
