/* Calls by which programs ask whether memory is mapped say that it is not where it was given back,
 * and that it is where it is far; by name, and by number. */

#include "../hazards/hazard.h"

enum { HOLE = 8 };

static unsigned char there[HELD];

static int asked(int call, char* at, size_t length) {
  switch (call) {
    case 0:
      return mincore(at, length, there);
    case 1:
      return msync(at, length, MS_ASYNC);
    case 2:
      return mlock(at, length);
    case 3:
      return mlock2(at, length, MLOCK_ONFAULT);
    case 4:
      return munlock(at, length);
    case 5:
      return (int)syscall(SYS_mincore, at, length, there);
    case 6:
      return (int)syscall(SYS_msync, at, length, MS_ASYNC);
    case 7:
      return (int)syscall(SYS_mlock, at, length);
    case 8:
      return (int)syscall(SYS_mlock2, at, length, MLOCK_ONFAULT);
    case 9:
      return (int)syscall(SYS_munlock, at, length);
    default:
      return (int)syscall(SYS_mprotect, at, length, PROT_READ | PROT_WRITE);
  }
}

static void must_answer(char* at, size_t length, int error) {
  for (int call = 0; call <= 10; ++call) {
    errno = 0;
    const int status = asked(call, at, length);
    if (status == (error == 0 ? 0 : -1) && errno == error) continue;
    printf("call %d: %d, %s\n", call, status, strerror(errno));
    fflush(stdout);
    _exit(1);
  }
}

int main(void) {
  char* at = far_block(HELD, 1);
  must(munmap(at + HOLE * PAGE, HOLE * PAGE) == 0, "munmap");
  must_answer(at, HOLE * PAGE, 0);
  must_answer(at + HOLE * PAGE, HOLE * PAGE, ENOMEM);
  must_answer(at, HELD * PAGE, ENOMEM);
  must_answer(at + 2 * HOLE * PAGE, (HELD - 2 * HOLE) * PAGE, 0);
  must_answer(at + HOLE * PAGE, 0, 0);
  must(mincore(at + HOLE * PAGE + 1, PAGE, there) == -1 && errno == EINVAL, "mincore of no page");
  must(msync(at + HOLE * PAGE + 1, PAGE, MS_ASYNC) == -1 && errno == EINVAL, "msync of no page");
  check("memory before the hole", at, HOLE, 1);
  must(munmap(at, HELD * PAGE) == 0, "munmap");
  must_answer(at, HELD * PAGE, ENOMEM);
  puts("ok");
  return 0;
}
