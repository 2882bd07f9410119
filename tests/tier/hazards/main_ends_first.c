/* The first thread has ended, so that the process looks like one that has: another that joins the
 * tree must not give away what it has far. */

#include "hazard.h"

#include <spawn.h>

extern char** environ;

static void* go_on(void* first) {
  must(pthread_join(*(pthread_t*)first, NULL) == 0, "pthread_join");
  char* at = far_block(PRESSED, 1);
  char* words[] = {"true", NULL};
  pid_t child = 0;
  must(posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) == 0, "posix_spawn");
  must(status_of(child) == 0, "a program");
  char* more = far_block(PRESSED, 2);  /* in slots that would have been given away */
  check("far memory", at, PRESSED, 1);
  check("more of it", more, PRESSED, 2);
  puts("ok");
  return NULL;
}

int main(void) {
  static pthread_t self, other;
  self = pthread_self();
  must(pthread_create(&other, NULL, go_on, &self) == 0, "pthread_create");
  pthread_exit(NULL);
}
