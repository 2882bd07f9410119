/* A child that shares all memory (vfork) is killed while it gives memory back. Its parent forks. */

#include "hazard.h"

static volatile pid_t child;

static void* kill_it(void* unused) {
  while (child == 0) usleep(100);
  usleep(50000);
  must(kill(child, SIGKILL) == 0, "kill");
  return unused;
}

int main(void) {
  char* other = far_block(HELD, 1);
  char* given = fresh(HELD);
  fill(given, HELD, 2);
  pthread_t killer;
  must(pthread_create(&killer, NULL, kill_it, NULL) == 0, "pthread_create");
  const pid_t sharing = vfork();
  must(sharing >= 0, "vfork");
  if (sharing == 0) {
    child = getpid();
    while (1) madvise(given, HELD * PAGE, MADV_DONTNEED);
  }
  must(status_of(sharing) == SIGKILL, "it was killed");
  must(pthread_join(killer, NULL) == 0, "pthread_join");
  const pid_t forked = fork();
  must(forked >= 0, "fork");
  if (forked == 0) _exit(!holds(other, HELD, 1));
  must(status_of(forked) == 0, "a child");
  check("far memory", other, HELD, 1);
  puts("ok");
  return 0;
}
