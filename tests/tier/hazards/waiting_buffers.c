/* Calls whose buffers would become far while they wait, in a program of which other calls hold much
 * of near memory: each gets what it waited for, once. */

#include "hazard.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { MANY = 1024, SOME = 600, MARK = 16, BIG = 4 << 20, QUEUED = 2000 };

extern char** environ;

static char* far_bytes;

static pid_t this_thread(void) { return (pid_t)syscall(SYS_gettid); }

/* Until a thread waits in a system call. */
static void wait_until_in(pid_t thread, int call) {
  char name[64];
  const struct timespec moment = {.tv_nsec = 100000};
  snprintf(name, sizeof name, "/proc/self/task/%d/syscall", thread);
  for (;;) {
    FILE* file = fopen(name, "r");
    must(file != NULL, name);
    int found = -1;
    const int known = fscanf(file, "%d", &found) == 1;
    fclose(file);
    if (known && found == call) return;
    nanosleep(&moment, NULL);
  }
}

/* What a thread waits for, and where it is sent from. */
struct Wait {
  pid_t thread;
  int call;
  int to;
  const char* watched; /* stays near */
};

static void* send_when_pressed(void* given) {
  const struct Wait* wait = given;
  wait_until_in(wait->thread, wait->call);
  for (int i = 0; i < 200; ++i) sched_yield(); /* calls that look whether others' threads ended */
  for (int i = 0; i < 4; ++i) press();
  if (wait->watched != NULL) must(resident(wait->watched, 1) == 1, "what a call holds became far");
  must(write(wait->to, "first\n", 6) == 6 && write(wait->to, "again\n", 6) == 6, "write");
  return NULL;
}

static pthread_t sends(struct Wait* wait) {
  pthread_t sender;
  must(pthread_create(&sender, NULL, send_when_pressed, wait) == 0, "pthread_create");
  return sender;
}

static void must_be_first(long bytes, long expected, const char* at, const char* what) {
  must(bytes == expected && memcmp(at, "first\n", (size_t)bytes) == 0, what);
}

struct Gathered {
  int ends[2];
  int vectors;
  pid_t thread;
  pthread_t number;
};

/* Vectors on every second page; the message's bytes are in the first. */
static void* gather(void* given) {
  struct Gathered* gathered = given;
  static struct iovec vectors[2][MANY];
  struct iovec* into = vectors[gathered->vectors == MANY];
  char* at = fresh(2 * MANY);
  for (int i = 0; i < gathered->vectors; ++i)
    into[i] = (struct iovec){.iov_base = at + 2 * i * PAGE, .iov_len = 64};
  struct msghdr message = {.msg_iov = into, .msg_iovlen = (size_t)gathered->vectors};
  __atomic_store_n(&gathered->thread, this_thread(), __ATOMIC_RELEASE);
  must_be_first(recvmsg(gathered->ends[0], &message, 0), 6, at, "a message in many parts");
  return NULL;
}

static void start_gathering(struct Gathered* gathered, int vectors) {
  gathered->vectors = vectors;
  must(socketpair(AF_UNIX, SOCK_DGRAM, 0, gathered->ends) == 0, "socketpair");
  must(pthread_create(&gathered->number, NULL, gather, gathered) == 0, "pthread_create");
  while (__atomic_load_n(&gathered->thread, __ATOMIC_ACQUIRE) == 0) sched_yield();
  wait_until_in(gathered->thread, SYS_recvmsg);
}

static void end_gathering(struct Gathered* gathered) {
  press();
  must(write(gathered->ends[1], "first\n", 6) == 6, "write");
  must(pthread_join(gathered->number, NULL) == 0, "pthread_join");
}

static void stream(void) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  char* at = far_block(2, 3);
  socklen_t* length = (socklen_t*)(void*)(at + PAGE);
  *length = 100;
  static char near_bytes[6];
  struct Wait wait = {this_thread(), SYS_recvfrom, ends[1], NULL};
  const pthread_t sender = sends(&wait);
  const long bytes = recvfrom(ends[0], near_bytes, sizeof near_bytes, 0, (void*)at, length);
  must_be_first(bytes, 6, near_bytes, "bytes whose sender is asked for");
  must(pthread_join(sender, NULL) == 0, "pthread_join");
}

static void terminal(void) {
  const int main_end = posix_openpt(O_RDWR | O_NOCTTY);
  must(main_end >= 0 && grantpt(main_end) == 0 && unlockpt(main_end) == 0, "posix_openpt");
  const int line = open(ptsname(main_end), O_RDWR | O_NOCTTY);
  must(line >= 0, "open of a terminal");
  char* at = far_block(1, 3);
  struct Wait wait = {this_thread(), SYS_read, main_end, NULL};
  const pthread_t sender = sends(&wait);
  must_be_first(read(line, at, 100), 6, at, "a terminal's line");
  must(pthread_join(sender, NULL) == 0, "pthread_join");
}

static void datagram(void) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
  char* at = far_block(1, 3);
  struct Wait wait = {this_thread(), SYS_recvfrom, ends[1], NULL};
  const pthread_t sender = sends(&wait);
  must_be_first(recv(ends[0], at, 100, 0), 6, at, "a datagram");
  must(pthread_join(sender, NULL) == 0, "pthread_join");
}

static void events(void) {
  int ends[2];
  must(pipe(ends) == 0, "pipe");
  struct pollfd* asked = (struct pollfd*)(void*)far_block(1, 3);
  *asked = (struct pollfd){.fd = ends[0], .events = POLLIN};
  struct Wait wait = {this_thread(), SYS_poll, ends[1], (char*)asked};
  const pthread_t sender = sends(&wait);
  must(poll(asked, 1, 1000000) == 1 && asked->revents == POLLIN, "poll");
  must(pthread_join(sender, NULL) == 0, "pthread_join");
}

/* The first call of the thread that is given far memory is its child's, which shares it. */
static void* in_parent_of_vfork(void* unused) {
  const pid_t child = vfork();
  if (child == 0) _exit(chdir(far_bytes) == 0 ? 0 : 1);
  static int status;
  must(waitpid(child, &status, 0) == child && status == 0, "a child by vfork");
  datagram();
  return unused;
}

static void shared_thread(void) {
  strcpy(far_bytes, "/");
  send_far(far_bytes, HELD);
  pthread_t thread;
  must(pthread_create(&thread, NULL, in_parent_of_vfork, NULL) == 0, "pthread_create");
  must(pthread_join(thread, NULL) == 0, "pthread_join");
}

static void on_bus(int number) { _exit(number == SIGBUS ? 9 : 1); }

static void spawned(void) {
  struct sigaction action = {.sa_handler = on_bus}, found;
  must(sigaction(SIGBUS, &action, NULL) == 0, "sigaction");
  posix_spawnattr_t attributes;
  sigset_t all;
  sigfillset(&all);
  must(posix_spawnattr_init(&attributes) == 0 &&
           posix_spawnattr_setsigdefault(&attributes, &all) == 0 &&
           posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF) == 0,
       "posix_spawnattr");
  char* words[] = {"true", NULL};
  pid_t child;
  must(posix_spawnp(&child, "true", NULL, &attributes, words, environ) == 0, "posix_spawn");
  must(status_of(child) == 0, "true");
  must(sigaction(SIGBUS, NULL, &found) == 0 && found.sa_handler == on_bus,
       "a child took the program's handler away");
  const pid_t faulting = fork();
  must(faulting >= 0, "fork");
  if (faulting == 0) {
    const int file = memfd_create("empty", 0);
    char* behind = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
    _exit(*(volatile char*)behind);
  }
  const int status = status_of(faulting);
  must(WIFEXITED(status) && WEXITSTATUS(status) == 9, "the program's handler did not run");
}

static volatile int is_written;

static void* append_marks(void* file) {
  while (!is_written) must(write(*(int*)file, "----------------", MARK) == MARK, "write of a mark");
  return NULL;
}

/* One write to a file's end is in one piece there, whatever others append meanwhile. */
static void appended(void) {
  char name[] = "appended.XXXXXX";
  int file = mkostemp(name, O_APPEND);
  must(file >= 0 && unlink(name) == 0, "mkostemp");
  char* big = fresh(BIG / PAGE);
  memset(big, 'b', BIG);
  pthread_t marks;
  must(pthread_create(&marks, NULL, append_marks, &file) == 0, "pthread_create");
  must(write(file, big, BIG) == BIG, "write of much");
  is_written = 1;
  must(pthread_join(marks, NULL) == 0, "pthread_join");
  char mark[MARK];
  off_t at = 0;
  while (pread(file, mark, MARK, at) == MARK && mark[0] == '-') at += MARK;
  must(pread(file, big, BIG, at) == BIG, "pread");
  must(memchr(big, '-', BIG) == NULL, "what was appended is not in one piece");
  must(munmap(big, BIG) == 0, "munmap");
  close(file);
}

/* The last bytes lie in a page of their own. */
static void queues(void) {
  const int queue = msgget(IPC_PRIVATE, 0600);
  must(queue >= 0, "msgget");
  char* at = far_bytes + PAGE - QUEUED - 4;
  memset(at, 1, QUEUED + 8);
  send_far(far_bytes, HELD);
  int done = msgsnd(queue, at, QUEUED, 0) == 0;
  send_far(far_bytes, HELD);
  done = done && msgrcv(queue, at, QUEUED, 0, IPC_NOWAIT) == QUEUED;
  const int error = errno;
  msgctl(queue, IPC_RMID, NULL);
  errno = error;
  must(done, "a message in a queue");
  for (int i = 0; i < QUEUED + 8; ++i) must(at[i] == 1, "what a queue held");
}

static void by_number(void) {
  fill(far_bytes, HELD, 5);
  send_far(far_bytes, HELD);
  must(syscall(SYS_sched_getaffinity, 0, 128, far_bytes) > 0, "SYS_sched_getaffinity");
  send_far(far_bytes, HELD);
  must(syscall(SYS_sched_setaffinity, 0, 128, far_bytes) == 0, "SYS_sched_setaffinity");
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    char** words = (char**)(void*)far_bytes;
    words[0] = strcpy(far_bytes + PAGE, "/bin/sh");
    words[1] = strcpy(far_bytes + 2 * PAGE, "-c");
    words[2] = strcpy(far_bytes + 3 * PAGE, "exit 7");
    words[3] = NULL;
    send_far(far_bytes, HELD);
    syscall(SYS_execve, far_bytes + PAGE, far_bytes, environ);
    _exit(1);
  }
  const int status = status_of(child);
  must(WIFEXITED(status) && WEXITSTATUS(status) == 7, "SYS_execve");
}

static pid_t waiting;

static void* wait_for_word(void* word) {
  __atomic_store_n(&waiting, this_thread(), __ATOMIC_RELEASE);
  must(syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL) == 0, "FUTEX_WAIT");
  return NULL;
}

/* A thread that waits for a lock for hours holds nothing meanwhile. */
static void lock(void) {
  uint32_t* word = (uint32_t*)(void*)far_block(1, 0);
  pthread_t thread;
  must(pthread_create(&thread, NULL, wait_for_word, word) == 0, "pthread_create");
  while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) == 0) sched_yield();
  wait_until_in(waiting, SYS_futex);
  send_far((char*)word, 1);
  must(syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1) == 1, "FUTEX_WAKE");
  must(pthread_join(thread, NULL) == 0, "pthread_join");
}

int main(int count, char** words) {
  must(count == 2 && chdir(words[1]) == 0, "the folder is missing");
  far_bytes = fresh(HELD);
  fill(far_bytes, HELD, 1);
  appended();
  queues();
  by_number();
  spawned();
  lock();
  static struct Gathered much, more;
  start_gathering(&much, SOME);
  stream();
  terminal();
  events();
  shared_thread();
  start_gathering(&more, MANY);
  datagram();
  end_gathering(&more);
  end_gathering(&much);
  puts("ok");
  return 0;
}
