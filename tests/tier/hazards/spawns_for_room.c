/* Holds all near memory, starts a program that needs some, and sleeps until that has ended:
 * spawns_for_room [small]. */

#include "hazard.h"

#include <spawn.h>

extern char** environ;

int main(int count, char** arguments) {
  if (count == 2) {
    char* at = fresh(HELD);
    fill(at, HELD, 2);
    check("memory of the program that was started", at, HELD, 2);
    return 0;
  }
  char* at = far_block(HELD, 1);
  char* much = fresh(PRESSED);
  fill(much, PRESSED, 3);
  for (int i = 0; i < 4; ++i) {
    char* words[] = {arguments[0], (char*)"small", NULL};
    pid_t child;
    must(posix_spawn(&child, arguments[0], NULL, NULL, words, environ) == 0, "posix_spawn");
    must(status_of(child) == 0, "what posix_spawn started");
    check("near memory of the parent", much, PRESSED, 3);
  }
  check("far memory of the parent", at, HELD, 1);
  puts("ok");
  return 0;
}
