// Half of near memory is read-only in a parent and in its child, which reads more than the rest.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { page = 4096, mib = 1 << 20, read_only = 8 * mib, used = 40 * mib };

int main(void) {
  char* const barred =
      mmap(0, read_only, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const others = malloc(used);
  memset(barred, 1, read_only);
  mprotect(barred, read_only, PROT_READ);
  memset(others, 1, used);
  const pid_t child = fork();
  if (child == 0) {
    size_t sum = 0;
    for (size_t i = 0; i < used; i += page) sum += (size_t)others[i];
    for (size_t i = 0; i < read_only; i += page) sum += (size_t)barred[i];
    _exit(sum == (used + read_only) / page ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  puts(status == 0 ? "ok" : "the child found other contents");
  return 0;
}
