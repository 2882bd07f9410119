/* Programs are started without fork: the parent's memory stays what it was, and arguments that lie
 * far arrive. */

#include "hazard.h"

#include <spawn.h>

extern char** environ;

int main(void) {
  char* at = far_block(HELD, 1);
  char* argument = fresh(1);
  strcpy(argument, "test \"$1\" = far");
  char* name = fresh(1);
  strcpy(name, "far");
  send_far(argument, 1);
  send_far(name, 1);
  char* words[] = {"sh", "-c", argument, "sh", name, NULL};
  pid_t child = vfork();
  if (child == 0) {
    execve("/bin/sh", words, environ);
    _exit(127);
  }
  must(status_of(child) == 0, "what vfork started");
  send_far(name, 1);
  must(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0, "posix_spawn");
  must(status_of(child) == 0, "what posix_spawn started");
  must(system("exit 3") == 3 << 8, "system");
  FILE* stream = popen("echo far", "r");
  must(stream != NULL, "popen");
  must(fgets(at, PAGE, stream) == at && strcmp(at, "far\n") == 0, "what popen read");
  must(pclose(stream) == 0, "pclose");
  fill(at, 1, 1);
  check("the parent's memory", at, HELD, 1);
  puts("ok");
  return 0;
}
