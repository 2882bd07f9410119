/* System calls by instructions of the program's own, which no library can follow: what was near and
 * given back reads as zeros, what was far keeps its contents. own_instructions close: all
 * descriptors are closed, after which the program must not get to see zeros in far memory. */

#include "hazard.h"

static long call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}

int main(int count, char** arguments) {
  const long length = (long)HELD * PAGE;
  char* at = far_block(HELD, 1);
  if (count == 2 && strcmp(arguments[1], "close") == 0) {
    for (long i = 3; i < 2048; ++i) call(SYS_close, i, 0, 0);
    check("far memory without its descriptors", at, HELD, 1);
    press();
    puts("not reached");
    return 0;
  }
  must(call(SYS_madvise, (long)(uintptr_t)at, length, MADV_DONTNEED) == 0, "madvise");
  check("far memory given back", at, HELD, 1);
  fill(at, HELD, 2);
  must(call(SYS_madvise, (long)(uintptr_t)at, length, MADV_DONTNEED) == 0, "madvise");
  check("near memory given back", at, HELD, 0);
  fill(at, HELD, 3);
  must(call(SYS_madvise, (long)(uintptr_t)at, length, MADV_DONTNEED) == 0, "madvise");
  press();
  check("near memory given back, later", at, HELD, 0);
  must(call(SYS_munmap, (long)(uintptr_t)at, length, 0) == 0, "munmap");
  at = far_block(HELD, 4);
  check("memory after a munmap", at, HELD, 4);
  puts("ok");
  return 0;
}
