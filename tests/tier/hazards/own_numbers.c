/* A program in a namespace of process numbers of its own cannot tell whether others of the tree
 * have ended; it must not take what they have: own_numbers [small]. */

#include "hazard.h"

#include <sched.h>

extern char** environ;

int main(int count, char** arguments) {
  if (count == 2) {
    must(getpid() == 1, "not in a namespace of its own");
    char* at = far_block(HELD, 2);
    check("memory of the program that was started", at, HELD, 2);
    return 0;
  }
  static char name[PAGE];
  static char small[] = "small";
  static char* words[] = {name, small, NULL};
  must(strlen(arguments[0]) < sizeof name, "a name too long");
  strcpy(name, arguments[0]);
  char* at = far_block(HELD, 1);
  const pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
  must(child >= 0, "a child in a namespace of its own");
  if (child == 0) {
    syscall(SYS_execve, name, words, environ);
    syscall(SYS_exit_group, 127);
  }
  must(status_of(child) == 0, "the program in a namespace of its own");
  check("far memory of the parent", at, HELD, 1);
  puts("ok");
  return 0;
}
