/* System calls by an instruction of the program's own, which no library can stand in for: what
 * static allocators and other languages' libraries make. */

#pragma once
#include "hazard.h"

__attribute__((unused)) static long call(long number, long a, long b, long c, long d, long e,
                                         long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

__attribute__((unused)) static void advise_past(char* at, size_t pages, int advice) {
  must(call(SYS_madvise, (long)(uintptr_t)at, (long)(pages * PAGE), advice, 0, 0, 0) == 0,
       "madvise");
}

__attribute__((unused)) static void unmap_past(char* at, size_t pages) {
  must(call(SYS_munmap, (long)(uintptr_t)at, (long)(pages * PAGE), 0, 0, 0, 0) == 0, "munmap");
}

/* Private anonymous memory; at = NULL: wherever the kernel likes. */
__attribute__((unused)) static char* map_past(char* at, size_t pages, int protection) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at == NULL ? 0 : MAP_FIXED);
  const long found =
      call(SYS_mmap, (long)(uintptr_t)at, (long)(pages * PAGE), protection, flags, -1, 0);
  must(found > 0 || found < -4095, "mmap");
  return (char*)(uintptr_t)found;
}

__attribute__((unused)) static char* remap_past(char* at, size_t pages, size_t more, int flags,
                                                char* to) {
  long found;
  int tries = 0;
  do {
    found = call(SYS_mremap, (long)(uintptr_t)at, (long)(pages * PAGE), (long)(more * PAGE), flags,
                 (long)(uintptr_t)to, 0);
    /* What has moved before is several mappings while its contents follow. */
  } while (found == -EFAULT && ++tries < 1000 && usleep(1000) == 0);
  if (found < 0 && found >= -4095) errno = (int)-found;
  must(found > 0 || found < -4095, "mremap");
  return (char*)(uintptr_t)found;
}
