/* Hands 32 MiB of heap memory to system calls, again and again, until standard input ends; or so
   many times as the argument says. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 32 << 20, PIECE = 64 << 10 };

int main(int count, char** words) {
  long rounds = count > 1 ? atol(words[1]) : -1;
  char* const memory = malloc(BYTES);
  const int nowhere = open("/dev/null", O_WRONLY);
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  long written = 0;
  memset(memory, 3, BYTES);
  printf("%d\n", (int)getpid());
  fflush(stdout);
  while (rounds < 0 ? poll(&input, 1, 0) == 0 : rounds-- > 0) {
    written = 0;
    for (long at = 0; at < BYTES; at += PIECE) written += write(nowhere, memory + at, PIECE);
  }
  printf("%ld\n", written);
  return 0;
}
