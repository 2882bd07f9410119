/* Under --sigbus: a file that is mapped over managed memory gives SIGBUS behind its end, as without
 * nearfar, where it is too short from the start or is cut short later, also while the same range is
 * mapped and filled again, and where an instruction of the program's own has mapped it; and far
 * memory beside it is there. */

#include "own_calls.h"

#include <setjmp.h>

enum { THREADS = 3, TURNS = 200 };

static _Thread_local sigjmp_buf back;
static _Thread_local volatile char* expected;
static char* beside;

static void on_bus(int number, siginfo_t* info, void* context) {
  (void)context;
  must(info->si_code == BUS_ADRERR && info->si_addr == (const void*)expected,
       "SIGBUS does not say of the address");
  check("far memory in the handler of SIGBUS", beside, HELD, 2);
  siglongjmp(back, number);
}

static int faults(volatile char* at, int writes) {
  expected = at;
  if (sigsetjmp(back, 1) != 0) return 1;
  if (writes) {
    *at = 1;
  } else {
    (void)*at;
  }
  return 0;
}

static int file_of(size_t pages) {
  FILE* file = tmpfile();
  must(file != NULL && ftruncate(fileno(file), (off_t)(pages * PAGE)) == 0, "tmpfile");
  return fileno(file);
}

static void map_over(char* at, size_t pages, int file) {
  must(mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == at,
       "mmap over managed memory");
}

static void map_past_libc(char* at, size_t pages, int file) {
  const long mapped = call(SYS_mmap, (long)(uintptr_t)at, (long)(pages * PAGE),
                           PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  must(mapped == (long)(uintptr_t)at, "mmap past libc");
}

static void must_die_of_bus(volatile char* at) {
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);
    (void)*at;
    _exit(0);
  }
  const int status = status_of(child);
  must(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "the child did not die of SIGBUS");
}

/* Each thread has a range of its own, and all of them change what is managed. */
static void* take_turns(void* unused) {
  (void)unused;
  const int file = file_of(1);
  char* at = fresh(4);
  for (uint64_t i = 1; i <= TURNS; ++i) {
    fill(at, 4, i);
    check("managed memory", at, 4, i);
    map_over(at, 4, file);
    must(!faults(at, 1), "a page of a file is not there");
    must(faults(at + PAGE + (i & 7), i & 1), "a page behind the end of a file is there");
    must(faults(at + PAGE + (i & 7), i & 1), "it is there when touched again");
    must(mmap(at, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
              0) == at,
         "mmap of fresh memory");
    check("fresh memory", at, 4, 0);
  }
  return NULL;
}

int main(void) {
  char* at = far_block(HELD, 1);
  char* behind = at + (size_t)8 * PAGE;
  fill(behind, HELD - 8, 3);
  beside = far_block(HELD, 2);
  const int file = file_of(2);
  map_over(at, 8, file);
  must_die_of_bus(at + 2 * PAGE);

  const struct sigaction own = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
  must(sigaction(SIGBUS, &own, NULL) == 0, "sigaction");
  must(!faults(at + PAGE, 1), "the last page of the file is not there");
  must(faults(at + 2 * PAGE + 5, 0) && faults(at + 2 * PAGE + 5, 1) && faults(at + 7 * PAGE, 0),
       "a page behind the end of a file is there");
  send_far(beside, HELD);
  must(faults(at + 3 * PAGE, 0), "a page behind the end of a file is there");
  must(ftruncate(file, PAGE) == 0, "ftruncate");
  must(faults(at + PAGE, 1) && !faults(at, 1), "a file that was cut short");
  must_die_of_bus(at + PAGE);
  must(ftruncate(file, (off_t)4 * PAGE) == 0, "ftruncate");
  must(!faults(at + 3 * PAGE, 1), "a file that has grown");
  check("far memory behind the file", behind, HELD - 8, 3);

  char* past = far_block(HELD, 4);
  map_past_libc(past, HELD, file_of(1));
  must(!faults(past, 1), "a page of a file that was mapped past libc is not there");
  must(faults(past + PAGE, 0) && faults(past + PAGE, 1), "a page behind the end of that file");
  must_die_of_bus(past + 2 * PAGE);

  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, take_turns, NULL) == 0, "pthread_create");
  for (int i = 0; i < THREADS; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
  check("far memory beside the file", beside, HELD, 2);
  puts("ok");
  return 0;
}
