/* A signal's handler forks, whatever its thread is doing: often while that gives memory back. On
 * both sides what was interrupted goes on and is done: given back is zeros, mapped is memory. A
 * side that waits for ever is ended by an alarm. */

#include "hazard.h"

enum { GIVEN = 16, FORKS = 100, CHILD_SECONDS = 10, SECONDS = 100 };

static pthread_t first_thread;
static volatile sig_atomic_t forks;
static volatile sig_atomic_t is_child;
static volatile sig_atomic_t failed;

static void fork_here(int number) {
  (void)number;
  if (forks == FORKS) return;
  const pid_t child = fork();
  if (child == 0) {
    is_child = 1;
    alarm(CHILD_SECONDS);
    return;
  }
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0) continue;
  if (child < 0 || status != 0) failed = 1;
  ++forks;
}

static void* send_signals(void* argument) {
  (void)argument;
  for (useconds_t pause = 1; forks < FORKS; pause = pause % 97 + 1) {
    must(pthread_kill(first_thread, SIGUSR1) == 0, "pthread_kill");
    usleep(1000 + 7 * pause);
  }
  return NULL;
}

static void map_and_give_back(char* at) {
  fill(at, 1, 1);
  must(madvise(at, (size_t)GIVEN * PAGE, MADV_DONTNEED) == 0, "madvise");
  check("what was given back", at, 1, 0);
  char* const other = fresh(GIVEN);
  check("what was mapped", other, 1, 0);
  must(munmap(other, (size_t)GIVEN * PAGE) == 0, "munmap");
}

int main(void) {
  send_far(far_block(HELD, 3), HELD);
  char* const at = fresh(GIVEN);
  alarm(SECONDS);
  first_thread = pthread_self();
  const struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
  must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
  pthread_t sender;
  must(pthread_create(&sender, NULL, send_signals, NULL) == 0, "pthread_create");
  while (forks < FORKS && !is_child) map_and_give_back(at);
  if (is_child) {
    map_and_give_back(at);
    _exit(0);
  }
  must(pthread_join(sender, NULL) == 0 && !failed, "a child");
  puts("ok");
  return 0;
}
