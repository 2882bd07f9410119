/* Addresses are reserved by the terabyte, and memory is put to use here and there among them, in
 * the two ways in which programs do: by mapping it there, and by making it accessible. All of it is
 * managed: it holds what it held, in forked children as well, until it is given back. */

#include "../hazards/hazard.h"

enum { PARTS = 40, PART = 96 };

static const size_t reserved = (size_t)8 << 40;

static char* part_of(char* base, size_t i) { return base + i * (reserved / PARTS) / PAGE * PAGE; }

static void check_all(char* base, size_t shift) {
  for (size_t i = 0; i < PARTS; ++i) check("a part", part_of(base, i), PART, i + shift);
}

int main(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char* base = mmap(NULL, reserved, PROT_NONE, flags, -1, 0);
  must(base != MAP_FAILED, "mmap of 8 TiB");
  for (size_t i = 0; i < PARTS; ++i) {
    char* at = part_of(base, i);
    if (i % 2 == 0) {
      must(mmap(at, PART * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == at, "mmap");
    } else {
      must(mprotect(at, PART * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
    }
    fill(at, PART, i + 1);
  }
  check_all(base, 1);

  pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    check_all(base, 1);
    must(madvise(base, reserved, MADV_DONTNEED) == 0, "madvise");
    for (size_t i = 0; i < PARTS; ++i)
      check("what a child has given back", part_of(base, i), PART, 0);
    _exit(0);
  }
  must(status_of(child) == 0, "a child");
  check_all(base, 1);

  must(madvise(base, (size_t)(part_of(base, PARTS / 2) - base), MADV_DONTNEED) == 0, "madvise");
  for (size_t i = 0; i < PARTS; ++i)
    check("half of it given back", part_of(base, i), PART, i < PARTS / 2 ? 0 : i + 1);
  must(munmap(base, reserved) == 0, "munmap");
  base = mmap(NULL, reserved, PROT_READ | PROT_WRITE, flags, -1, 0);
  must(base != MAP_FAILED, "mmap of 8 TiB again");
  for (size_t i = 0; i < PARTS; ++i) check("fresh memory", part_of(base, i), PART, 0);
  puts("ok");
  return 0;
}
