/* Children that no fork of libc has made, while another thread forks: they do not get its child's
 * memory either, where they would find zeros. Those of clone begin with what they are given.
 */

#include "hazard.h"

#include <sched.h>
#include <stdatomic.h>

static const volatile char* far_memory;
static atomic_int over;
static char stack[1 << 16];

static void* fork_on(void* unused) {
  while (!over) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    must(child > 0, "fork");
    must(waitpid(child, NULL, 0) == child, "the end of a child");
  }
  return unused;
}

static int look(void* unused) {
  int different = unused != NULL;
  for (size_t page = 0; page < HELD; ++page)
    different |= *(const volatile uint64_t*)(far_memory + page * PAGE) != word(1, page * WORDS);
  return different;
}

static pid_t by_fork(void) { return (pid_t)syscall(SYS_fork); }
static pid_t by_clone(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static pid_t on_a_stack(void) { return clone(look, stack + sizeof stack, SIGCHLD, NULL); }

static int give_back(void* given) { return *(int*)given; }

int main(void) {
  pid_t (*const ways[])(void) = {by_fork, by_clone, _Fork, on_a_stack};
  pthread_t thread;
  far_memory = far_block(HELD, 1);
  must(pthread_create(&thread, NULL, fork_on, NULL) == 0, "a thread");
  for (size_t i = 0; i < 400; ++i) {
    const pid_t child = ways[i % 4]();
    must(child >= 0, "a raw fork");
    if (child == 0) syscall(SYS_exit_group, look(NULL));
    const int status = status_of(child);
    errno = 0;
    must(WIFSIGNALED(status), "the child lived on other memory");
  }
  static int status = 5;
  const pid_t child = clone(give_back, stack + sizeof stack, SIGCHLD, &status);
  must(WEXITSTATUS(status_of(child)) == status, "what a child of clone returns");
  over = 1;
  must(pthread_join(thread, NULL) == 0, "the end of a thread");
  check("far memory of the parent", (const char*)far_memory, HELD, 1);
  puts("ok");
  return 0;
}
