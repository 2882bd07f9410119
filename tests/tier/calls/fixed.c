/* A file that is mapped over far memory takes its place in whole pages, as often as it is mapped,
 * and one that cannot be mapped leaves all as it was. */

#include "../hazards/hazard.h"

enum { ODD = 1000 };

static int file_of(const char* text) {
  FILE* file = tmpfile();
  must(file != NULL && fputs(text, file) >= 0 && fflush(file) == 0, "tmpfile");
  must(ftruncate(fileno(file), (off_t)HELD * PAGE) == 0, "ftruncate");
  return fileno(file);
}

static void must_fail(char* at, size_t length, int flags, int file, off_t offset, int error) {
  errno = 0;
  const void* mapped = mmap(at, length, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, offset);
  must(mapped == MAP_FAILED && errno == error, "a mapping that cannot be made");
}

int main(void) {
  const int file = file_of("near");
  char* at = far_block(HELD, 1);
  must_fail(at, HELD * PAGE, MAP_SHARED, -1, 0, EBADF);
  must_fail(at, HELD * PAGE, MAP_SHARED, file, 123, EINVAL);
  const int only_read = open("/proc/self/exe", O_RDONLY);
  must_fail(at, HELD * PAGE, MAP_SHARED, only_read, 0, EACCES);
  check("memory after failures", at, HELD, 1);

  char* behind = far_block(HELD, 2);
  for (int i = 0; i < 3; ++i) {
    must(mmap(at, ODD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == at, "mmap");
    must(memcmp(at, "near", 4) == 0 && at[PAGE - 1] == 0, "the file is not there");
  }
  must_fail(at, ODD, MAP_SHARED, -1, 0, EBADF);
  must(memcmp(at, "near", 4) == 0, "the file is there no more");
  must(((uint64_t*)(void*)at)[WORDS] == word(1, WORDS), "the page behind it");
  at[0] = 'f';
  char read[2] = {0};
  must(pread(file, read, 1, 0) == 1 && read[0] == 'f', "what was written is not in the file");

  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    at[1] = 'a';
    _exit(((uint64_t*)(void*)at)[WORDS] == word(1, WORDS) ? 0 : 1);
  }
  must(status_of(child) == 0, "the child's memory");
  must(at[1] == 'a', "the child wrote to another page");

  must(munmap(at, ODD) == 0, "munmap");
  must(mmap(at, ODD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at,
       "mmap of fresh memory");
  check("fresh memory in place of the file", at, 1, 0);
  must(munmap(at, HELD * PAGE) == 0, "munmap");
  check("memory elsewhere", behind, HELD, 2);
  puts("ok");
  return 0;
}
