/* Under --sigbus, where threads bring pages in themselves: far memory is there with all signals
 * blocked, in handlers that block all, and in every thread; the program's own handling of SIGBUS is
 * its own; and a system call that is given far memory finds it near. */

#include "hazard.h"

#include <setjmp.h>

enum { THREADS = 4, BIG = 2 * PRESSED };

static sigjmp_buf back;
static char* in_handler;
static volatile int handled;

static void read_far(int number) {
  check("far memory in a handler", in_handler, HELD, 2);
  handled = number;
}

static void on_bus(int number, siginfo_t* info, void* context) {
  (void)context;
  must(info->si_code == BUS_ADRERR, "SIGBUS does not say of an address");
  check("far memory in the handler of SIGBUS", in_handler, HELD, 2);
  siglongjmp(back, number);
}

static void on_sent(int number) { handled = -number; }

/* A page of a mapped file behind the file's end. */
static volatile char* past_the_end(void) {
  FILE* file = tmpfile();
  must(file != NULL, "tmpfile");
  void* at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fileno(file), 0);
  must(at != MAP_FAILED, "mmap");
  return at;
}

static void* use_own(void* seed) {
  const uint64_t own = (uint64_t)(uintptr_t)seed;
  char* at = fresh(BIG / THREADS);
  for (int i = 0; i < 10; ++i) {
    fill(at, BIG / THREADS, own + (uint64_t)i);
    check("what a thread holds", at, BIG / THREADS, own + (uint64_t)i);
  }
  return NULL;
}

int main(void) {
  in_handler = far_block(HELD, 2);
  struct sigaction action = {.sa_handler = read_far};
  sigfillset(&action.sa_mask);
  must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
  must(raise(SIGUSR1) == 0 && handled == SIGUSR1, "the handler did not run");

  sigset_t all, before;
  sigfillset(&all);
  char* at = far_block(HELD, 1);
  must(sigprocmask(SIG_BLOCK, &all, &before) == 0, "sigprocmask");
  check("far memory with signals blocked", at, HELD, 1);
  send_far(at, HELD);
  must(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0, "pthread_sigmask");
  check("far memory with signals blocked for the thread", at, HELD, 1);
  must(sigprocmask(SIG_SETMASK, &before, NULL) == 0, "sigprocmask");

  struct sigaction own = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO}, was;
  must(sigaction(SIGBUS, NULL, &was) == 0 && was.sa_handler == SIG_DFL,
       "SIGBUS does not look untouched");
  must(sigaction(SIGBUS, &own, NULL) == 0, "sigaction");
  must(sigaction(SIGBUS, NULL, &was) == 0 && was.sa_sigaction == on_bus,
       "the program's handler is not there");
  send_far(in_handler, HELD);
  volatile char* behind = past_the_end();
  if (sigsetjmp(back, 1) == 0) {
    (void)*behind;
    must(0, "a page behind the end of a file is there");
  }
  send_far(at, HELD);
  check("far memory after the program's own SIGBUS", at, HELD, 1);
  must(signal(SIGBUS, on_sent) != SIG_ERR && raise(SIGBUS) == 0 && handled == -SIGBUS,
       "the handler of a SIGBUS that was sent did not run");
  must(signal(SIGBUS, SIG_IGN) == on_sent && raise(SIGBUS) == 0, "SIGBUS is not ignored");

  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, use_own, (void*)(uintptr_t)(100 * (i + 1))) == 0,
         "pthread_create");
  for (int i = 0; i < THREADS; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");

  send_far(at, HELD);
  int ends[2];
  must(pipe(ends) == 0, "pipe");
  must(write(ends[1], at, PAGE) == PAGE, "a call that was given far memory");
  check("far memory after such a call", at, HELD, 1);

  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    send_far(at, HELD);
    check("far memory of a child", at, HELD, 1);
    signal(SIGBUS, SIG_DFL);
    (void)*behind;
    _exit(0);
  }
  const int status = status_of(child);
  must(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "the child did not die of SIGBUS");
  check("far memory after a fork", at, HELD, 1);
  puts("ok");
  return 0;
}
