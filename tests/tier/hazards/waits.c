/* Holds far memory, says so, waits for a line, and looks at it: waits [PROGRAM [ARGUMENT]]. Then
 * becomes PROGRAM, if there is one. */

#include "hazard.h"

int main(int count, char** arguments) {
  char* at = far_block(HELD, 1);
  puts("far");
  fflush(stdout);
  char line[80];
  const ssize_t got = read(0, line, sizeof line);
  must(got >= 0, "read");
  check("far memory after a while", at, HELD, 1);
  puts("ok");
  fflush(stdout);
  if (count > 1) {
    execvp(arguments[1], arguments + 1);
    must(0, "execvp");
  }
  return 0;
}
