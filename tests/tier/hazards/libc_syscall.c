/* Memory is given back, moved and covered through libc's syscall(2). */

#include "hazard.h"

int main(void) {
  const int access = PROT_READ | PROT_WRITE;
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
  const size_t length = (size_t)HELD * PAGE;
  char* at = far_block(HELD, 1);
  must(syscall(SYS_madvise, at, length / 2, MADV_DONTNEED) == 0, "madvise");
  check("far memory given back", at, HELD / 2, 0);
  fill(at, HELD, 2);
  send_far(at, HELD);
  must(syscall(SYS_mmap, at, length, access, kind | MAP_FIXED, -1, 0) == (long)(uintptr_t)at,
       "mmap");
  check("far memory with other memory over it", at, HELD, 0);
  fill(at, HELD, 3);
  send_far(at, HELD);
  char* moved = (char*)syscall(SYS_mremap, at, length, 2 * length, MREMAP_MAYMOVE, 0);
  must(moved != MAP_FAILED, "mremap");
  check("far memory that was moved", moved, HELD, 3);
  check("what was behind it", moved + length, HELD, 0);
  send_far(moved, 2 * HELD);
  must(syscall(SYS_munmap, moved, 2 * length) == 0, "munmap");
  for (int i = 0; i < 12; ++i) {
    char* again = fresh(2 * HELD);
    check("fresh memory", again, 2 * HELD, 0);
    fill(again, 2 * HELD, 4);
    send_far(again, 2 * HELD);
    must(syscall(SYS_munmap, again, 2 * length) == 0, "munmap");
  }
  char* file_over = far_block(HELD, 5);
  const int file = memfd_create("file", 0);
  must(ftruncate(file, (off_t)length) == 0, "ftruncate");
  must(syscall(SYS_mmap, file_over, length, access, MAP_SHARED | MAP_FIXED, file, 0) ==
           (long)(uintptr_t)file_over,
       "mmap of a file");
  check("a file over far memory", file_over, HELD, 0);
  fill(file_over, HELD, 6);
  must(syscall(SYS_munmap, file_over, length) == 0, "munmap");
  puts("ok");
  return 0;
}
