/* Fills memory again and again, forks, and says so; then both processes wait for the end of input.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int words, char** word) {
  enum { PAGE = 4096, ROUNDS = 4 };
  const size_t length = (words == 2 ? strtoul(word[1], NULL, 10) : 1) << 20;
  char* const at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return 1;
  for (int round = 1; round <= ROUNDS; ++round)
    for (size_t i = 0; i < length; i += PAGE) at[i] = (char)round;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child != 0) dprintf(1, "%d %d\n", (int)getpid(), (int)child);
  char end;
  return read(0, &end, 1) == 0 ? 0 : 1;
}
