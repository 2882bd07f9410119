/* A program that limits its data (RLIMIT_DATA) has what the limit leaves it, as without the
 * library: what the pager keeps is not counted. It is refused what is beyond the limit. */

#include <sys/resource.h>

#include "../hazards/hazard.h"

enum { LIMIT_MIB = 64, GRANTED = 5120, REFUSED = 65536 };

int main(void) {
  const struct rlimit limit = {(rlim_t)LIMIT_MIB << 20, (rlim_t)LIMIT_MIB << 20};
  must(setrlimit(RLIMIT_DATA, &limit) == 0, "setrlimit");
  char* at = fresh(GRANTED);
  fill(at, GRANTED, 1);
  const void* beyond =
      mmap(NULL, (size_t)REFUSED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(beyond == MAP_FAILED && errno == ENOMEM, "a mapping beyond the limit");

  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    int whole = holds(at, GRANTED, 1);
    fill(at, 10, 2);
    _exit(whole && holds(at, 10, 2) ? 0 : 1);
  }
  must(status_of(child) == 0, "the child");
  check("memory within the limit", at, GRANTED, 1);
  puts("ok");
  return 0;
}
