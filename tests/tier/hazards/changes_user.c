/* A program with threads becomes another user, for good, and goes on to fork. */

#include "hazard.h"

#include <grp.h>
#include <stdatomic.h>

static atomic_int ended;
static char* shared;

static void* keep_looking(void* unused) {
  while (!atomic_load(&ended)) check("memory that another thread looks at", shared, HELD, 2);
  return unused;
}

int main(void) {
  char* at = far_block(HELD, 1);
  shared = far_block(HELD, 2);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i)
    must(pthread_create(&threads[i], NULL, keep_looking, NULL) == 0, "pthread_create");
  must(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0, "setuid");
  must(getuid() == 65534 && geteuid() == 65534, "the user did not change");
  check("far memory of another user", at, HELD, 1);
  send_far(at, HELD);
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    check("far memory in a child", at, HELD, 1);
    fill(at, HELD, 3);
    send_far(at, HELD);
    check("a child's own", at, HELD, 3);
    _exit(0);
  }
  must(status_of(child) == 0, "the child");
  check("the parent's", at, HELD, 1);
  atomic_store(&ended, 1);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  puts("ok");
  return 0;
}
