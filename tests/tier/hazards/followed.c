/* The pager's thread comes to the processor of the thread that faults, and keeps that there, and
 * neither stays: followed CASE. Needs two processors, and the right to give a thread its policy
 * back. */

#include "hazard.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#define ALL 4096 /* pages, of which a quarter is near */

static char* at;
static time_t latest; /* that it waits for what another thread does */
static _Thread_local size_t touched;

/* Pages in an order without read-ahead. */
static void touch(size_t pages) {
  for (size_t i = 0; i < pages; ++i, ++touched) {
    const size_t page = touched * 1237 % ALL;
    check("a page", at + page * PAGE, 1, page + 1);
  }
}

static long call_past_libc(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}

/* The number of a thread that is so; 0 if none is. */
static pid_t thread_that(int (*is_so)(pid_t)) {
  DIR* tasks = opendir("/proc/self/task");
  must(tasks != NULL, "threads");
  pid_t found = 0;
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
    const pid_t thread = (pid_t)atoi(task->d_name);
    if (thread != 0 && is_so(thread)) found = thread;
  }
  closedir(tasks);
  return found;
}

static int is_idle(pid_t thread) { return sched_getscheduler(thread) == SCHED_IDLE; }

/* The thread that runs only where no other does. */
static pid_t beside_us(void) { return thread_that(is_idle); }

static cpu_set_t cpus_of(pid_t thread) {
  cpu_set_t cpus;
  must(sched_getaffinity(thread, sizeof cpus, &cpus) == 0, "processors");
  return cpus;
}

static int is_beside_us(pid_t thread) {
  const cpu_set_t cpus = cpus_of(thread);
  return thread != 0 && CPU_COUNT(&cpus) == 1;
}

/* Pages that are far, most of them, while the thread that has moved another goes on to say so. */
static void touch_a_while(void) {
  for (int i = 0; i < 4; ++i) {
    usleep(2000);
    touch(16);
  }
}

/* A fault is served by it there. On a busy machine it may have to try again, after up to 10 s. */
static pid_t followed(void) {
  while (time(NULL) < latest) {
    touch(1);
    const pid_t thread = beside_us();
    if (!is_beside_us(thread)) continue;
    touch_a_while();
    if (is_beside_us(thread)) return thread;
  }
  must(0, "no thread came");
  return 0;
}

static void goes_when_idle(void) {
  const pid_t thread = followed();
  const cpu_set_t ours = cpus_of(0);
  for (int i = 0; i < 5000; ++i) {
    const cpu_set_t its = cpus_of(thread);
    if (sched_getscheduler(thread) == SCHED_OTHER && CPU_EQUAL(&its, &ours)) return;
    usleep(1000);
  }
  must(0, "it stayed");
}

/* By two steps of niceness, counted from where the program is; in a child of it, too. */
static void is_preferred(void) {
  enum { ours = 5, its = 3 };
  must(setpriority(PRIO_PROCESS, 0, ours) == 0, "priority");
  const pid_t child = fork();
  must(child >= 0, "fork");
  must(getpriority(PRIO_PROCESS, (id_t)followed()) == (child == 0 ? its : -2), "not preferred");
  must(getpriority(PRIO_PROCESS, 0) == ours, "the program is, too");
  if (child == 0) _exit(0);
  must(status_of(child) == 0, "a forked child");
}

/* Where this thread wants its processor all the time, and another one faults there. */
static void* touch_much(void* nothing) {
  touch(20000);
  return nothing;
}

static atomic_int over;

static void* touch_until_over(void* nothing) {
  while (!atomic_load(&over)) touch(16);
  return nothing;
}

static void is_not_starved(void) {
  const pid_t thread = followed();
  cpu_set_t here = cpus_of(thread);
  must(sched_setaffinity(0, sizeof here, &here) == 0, "affinity");
  pthread_t other;
  must(pthread_create(&other, NULL, touch_much, NULL) == 0, "thread");
  int among_others = 0;
  while (pthread_tryjoin_np(other, NULL) != 0)
    among_others += sched_getscheduler(thread) == SCHED_OTHER;
  must(among_others > 0, "it stayed");
}

/* Of the pager's threads, and of the program's but this one, how many are on a processor alone with
 * one of the other kind. */
static int pairs(void) {
  cpu_set_t pagers, programs, both;
  CPU_ZERO(&pagers);
  CPU_ZERO(&programs);
  DIR* tasks = opendir("/proc/self/task");
  must(tasks != NULL, "threads");
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
    const pid_t thread = (pid_t)atoi(task->d_name);
    if (thread == 0 || thread == getpid()) continue;
    cpu_set_t cpus; /* of which the kernel writes as much as there are processors for */
    CPU_ZERO(&cpus);
    if (call_past_libc(SYS_sched_getaffinity, thread, sizeof cpus, (long)&cpus) <= 0) continue;
    if (CPU_COUNT(&cpus) != 1) continue;
    cpu_set_t* const kind = sched_getscheduler(thread) == SCHED_IDLE ? &pagers : &programs;
    CPU_OR(kind, kind, &cpus);
  }
  closedir(tasks);
  CPU_AND(&both, &pagers, &programs);
  return CPU_COUNT(&both);
}

static void on_two_processors(void) {
  while (time(NULL) < latest) {
    if (pairs() == 2) return;
    usleep(1000);
  }
  must(0, "they are not on two processors");
}

/* A thread of the pager's on each of two processors, and one of the program's on each. */
static void on_each_processor(void) {
  pthread_t others[2];
  for (int i = 0; i < 2; ++i)
    must(pthread_create(&others[i], NULL, touch_until_over, NULL) == 0, "thread");
  on_two_processors();
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    touch(2 * ALL);
    _exit(0);
  }
  must(status_of(child) == 0, "the child");
  on_two_processors();
  atomic_store(&over, 1);
  for (int i = 0; i < 2; ++i) must(pthread_join(others[i], NULL) == 0, "join");
  for (int i = 0; i < 5000 && beside_us() != 0; ++i) usleep(1000);
  must(beside_us() == 0, "they stayed though no thread faults");
}

#define FORBID(call)                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

enum { by_libc, past_libc, this_thread };

static void sandbox(int way) {
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      FORBID(SYS_sched_setaffinity),
      FORBID(SYS_sched_setscheduler),
      FORBID(SYS_openat),
      FORBID(SYS_clone),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  const long all = SECCOMP_FILTER_FLAG_TSYNC;
  long done = 0;
  if (way == by_libc) {
    done = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all, &program);
  } else if (way == past_libc) {
    done = call_past_libc(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all, (long)&program);
  } else {
    done = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  }
  must(done == 0, "seccomp");
}

static void sandboxed(int way) {
  sandbox(way);
  touch(40000);
}

static void* sandboxed_thread(void* nothing) {
  sandboxed(this_thread);
  return nothing;
}

/* How many processors this thread may run on; libc's function would first let it. */
static int processors(void) {
  cpu_set_t cpus; /* of which the kernel writes as much as there are processors for */
  CPU_ZERO(&cpus);
  must(call_past_libc(SYS_sched_getaffinity, 0, sizeof cpus, (long)&cpus) > 0, "processors");
  return CPU_COUNT(&cpus);
}

static int all_processors;

static void kept(void) {
  while (time(NULL) < latest) {
    touch(1);
    if (processors() != 1) continue;
    touch(16);
    if (processors() == 1) return;
  }
  must(0, "it was not kept");
}

/* One that is not the program's, and may run on one processor only. */
static int is_bound(pid_t thread) { return thread != getpid() && is_beside_us(thread); }

/* By a thread that is on our processor, or was a moment ago. */
static void served_there(void) {
  while (time(NULL) < latest) {
    touch(1);
    if (thread_that(is_bound) == 0) continue;
    touch_a_while();
    if (thread_that(is_bound) != 0) return;
  }
  must(0, "no thread came");
}

/* The pager's thread could not leave the policy for idle processors. */
static void kept_by_an_equal(void) {
  kept();
  must(beside_us() == 0, "it went where it cannot leave");
}

/* Of what the kernel tells of the first thread nothing follows for the others any more. */
static void* outlives_the_first(void* first) {
  must(pthread_join(*(pthread_t*)first, NULL) == 0, "join");
  while (beside_us() != 0 && time(NULL) < latest) touch(16);
  const time_t later = time(NULL) + 2;
  while (time(NULL) < later) {
    touch(16);
    must(beside_us() == 0, "it came back");
  }
  puts("ok");
  exit(0);
}

static void* kept_in_a_thread(void* nothing) {
  must(processors() == all_processors, "a thread was kept from its beginning");
  kept();
  return nothing;
}

static void is_kept(void) {
  pthread_t other;
  kept();
  const cpu_set_t seen = cpus_of(0);
  must(CPU_COUNT(&seen) == all_processors, "the program saw it");
  kept();
  must(pthread_create(&other, NULL, kept_in_a_thread, NULL) == 0, "thread");
  kept();
  must(pthread_join(other, NULL) == 0, "join");
  for (int i = 0; i < 5000 && processors() == 1; ++i) usleep(1000);
  must(processors() == all_processors, "it was kept though no thread faults");
}

/* Everything that a thread starts may run where it may itself. This program, called "may-run",
 * looks. */
static void starts(const char* self) {
  char number[16];
  snprintf(number, sizeof number, "%d", all_processors);
  char* words[] = {(char*)self, "may-run", number, NULL};
  char line[4096];
  snprintf(line, sizeof line, "%s may-run %s >/dev/null", self, number);
  kept();
  pid_t child = fork();
  if (child == 0) _exit(processors() != all_processors);
  must(status_of(child) == 0, "a forked child");
  kept();
  child = vfork();
  if (child == 0) {
    execv(self, words);
    _exit(1);
  }
  must(status_of(child) == 0, "a child of vfork");
  kept();
  must(posix_spawn(&child, self, NULL, NULL, words, environ) == 0, "spawn");
  must(status_of(child) == 0, "a child of posix_spawn");
  kept();
  must(system(line) == 0, "a child of system");
  kept();
  FILE* pipe = popen(line, "r");
  must(pipe != NULL && pclose(pipe) == 0, "a child of popen");
  kept();
  child = (pid_t)syscall(SYS_fork);
  if (child == 0) {
    execv(self, words);
    _exit(1);
  }
  must(status_of(child) == 0, "a child of syscall");
  kept();
  execv(self, words);
  must(0, "exec");
}

int main(int words, char** word) {
  all_processors = processors();
  if (words == 3) {
    must(all_processors == atoi(word[2]), "what was started was kept");
    puts("ok");
    return 0;
  }
  must(words == 2, "which case");
  latest = time(NULL) + 100;
  const char* const wanted = word[1];
  const int before = strcmp(wanted, "sandboxed-before") == 0;
  if (before) sandbox(by_libc);
  at = fresh(ALL);
  for (size_t page = 0; page < ALL; ++page) fill(at + page * PAGE, 1, page + 1);
  if (strcmp(wanted, "comes") == 0) {
    followed();
  } else if (strcmp(wanted, "preferred") == 0) {
    is_preferred();
  } else if (strcmp(wanted, "kept") == 0) {
    is_kept();
  } else if (strcmp(wanted, "each") == 0) {
    on_each_processor();
  } else if (strcmp(wanted, "starts") == 0) {
    starts(word[0]);
  } else if (strcmp(wanted, "idle") == 0) {
    goes_when_idle();
  } else if (strcmp(wanted, "starved") == 0) {
    is_not_starved();
  } else if (strcmp(wanted, "sandboxed") == 0) {
    const pid_t thread = followed();
    sandboxed(by_libc);
    must(sched_getscheduler(thread) == SCHED_OTHER, "it stayed");
  } else if (strcmp(wanted, "sandboxed-past-libc") == 0) {
    followed();
    sandbox(past_libc);
    touch(400); /* while others want its processor it stays behind them */
  } else if (before) {
    touch(40000);
  } else if (strcmp(wanted, "one-thread-sandboxed") == 0) {
    const pid_t thread = followed();
    sandboxed(this_thread);
    must(sched_getscheduler(thread) == SCHED_OTHER, "it stayed");
  } else if (strcmp(wanted, "other-thread-sandboxed") == 0) {
    pthread_t other;
    followed();
    must(pthread_create(&other, NULL, sandboxed_thread, NULL) == 0, "thread");
    must(pthread_join(other, NULL) == 0, "join");
    followed();
  } else if (strcmp(wanted, "served-there") == 0) {
    served_there();
  } else if (strcmp(wanted, "equal") == 0) {
    kept_by_an_equal();
  } else if (strcmp(wanted, "first-thread-ended") == 0) {
    static pthread_t first;
    pthread_t other;
    first = pthread_self();
    must(pthread_create(&other, NULL, outlives_the_first, &first) == 0, "thread");
    followed();
    pthread_exit(NULL);
  } else if (strcmp(wanted, "forked") == 0) {
    followed();
    const pid_t child = fork();
    must(child >= 0, "fork");
    followed();
    if (child == 0) _exit(0);
    must(status_of(child) == 0, "the child");
  } else {
    touch(20000);
  }
  puts("ok");
  return 0;
}
