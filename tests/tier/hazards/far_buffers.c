/* System calls are given far memory, by libc's functions and from within them, in every way: it is
 * there for each. Also for one that waits while its buffers would become far. */

#include "hazard.h"

#include <dirent.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { BUFFER = 8 * PAGE, BIG = 16 << 20, VECTORS = 200 };

static char* far_bytes;

/* Far memory that holds these bytes. */
static void* put(const void* from, size_t bytes) {
  memcpy(far_bytes, from, bytes);
  send_far(far_bytes, HELD);
  return far_bytes;
}

static void files(const char* folder) {
  char name[256], other[512];
  snprintf(name, sizeof name, "%s/a file", folder);
  const int file = open(put(name, sizeof name), O_RDWR | O_CREAT | O_TRUNC, 0600);
  must(file >= 0, "open of a far name");
  char* at = far_block(HELD, 7);
  must(write(file, at, HELD * PAGE) == HELD * PAGE, "write");
  send_far(at, HELD);
  must(pread(file, at, HELD * PAGE, 0) == HELD * PAGE, "pread");
  check("what was read", at, HELD, 7);
  struct iovec* vectors = (struct iovec*)(void*)far_bytes;
  for (int i = 0; i < VECTORS; ++i)
    vectors[i] = (struct iovec){.iov_base = at + i * 1000, .iov_len = 1000};
  send_far(far_bytes, HELD);
  send_far(at, HELD);
  must(pwritev(file, vectors, VECTORS, 0) == VECTORS * 1000, "pwritev");
  check("after a gathered write", at, HELD, 7);
  struct stat* found = put("", 1);
  must(stat(name, found) == 0 && found->st_size == HELD * PAGE, "stat into far memory");
  must(chdir(put(folder, strlen(folder) + 1)) == 0, "chdir");
  send_far(far_bytes, HELD);
  must(getcwd(far_bytes, BUFFER) == far_bytes, "getcwd");
  snprintf(other, sizeof other, "%s/another", folder);
  must(rename(name, put(other, sizeof other)) == 0, "rename");
  DIR* listed = opendir(folder);
  must(listed != NULL, "opendir");
  press();
  int entries = 0;
  while (readdir(listed) != NULL) ++entries;
  must(entries >= 3, "readdir");
  closedir(listed);
  close(file);
}

static void streams(const char* folder) {
  char name[512];
  snprintf(name, sizeof name, "%s/a stream", folder);
  FILE* file = fopen(name, "w+");
  must(file != NULL, "fopen");
  must(fprintf(file, "begins %d\n", 5) == 9, "fprintf");
  press();
  char* at = far_block(HELD, 9);
  must(fwrite(at, PAGE, HELD, file) == HELD, "fwrite");
  press();
  must(fputs("ends\n", file) >= 0 && fflush(file) == 0, "fputs");
  rewind(file);
  char line[16];
  must(fgets(line, sizeof line, file) != NULL && strcmp(line, "begins 5\n") == 0, "fgets");
  send_far(at, HELD);
  must(fread(at, PAGE, HELD, file) == HELD, "fread");
  check("what was read of a stream", at, HELD, 9);
  fclose(file);
}

static void large(const char* folder) {
  char name[512];
  snprintf(name, sizeof name, "%s/large", folder);
  const int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  char* at = fresh(BIG / PAGE);
  fill(at, BIG / PAGE, 3);
  must(write(file, at, BIG) == BIG, "write of more than is near");
  memset(at, 0, BIG);
  must(pread(file, at, BIG, 0) == BIG, "pread of more than is near");
  check("more than is near", at, BIG / PAGE, 3);
  must(munmap(at, BIG) == 0, "munmap");
  close(file);
}

static void* read_later(void* end) {
  char* at = far_block(2, 5);
  must(read(*(int*)end, at, 2 * PAGE) == PAGE, "a read that waited");
  return at;
}

static void sockets(void) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
  char* at = far_block(HELD, 4);
  must(send(ends[0], at, 4 * PAGE, 0) == 4 * PAGE, "send");
  char* into = far_block(HELD, 6);
  must(recv(ends[1], into, 4 * PAGE, 0) == 4 * PAGE, "recv of a datagram");
  check("a datagram", into, 4, 4);
  struct {
    struct msghdr message;
    struct iovec vector;
  } said = {.vector = {at, 2 * PAGE}};
  send_far(at, HELD);
  char* far = put(&said, sizeof said);
  ((struct msghdr*)(void*)far)->msg_iov = (struct iovec*)(void*)(far + sizeof said.message);
  ((struct msghdr*)(void*)far)->msg_iovlen = 1;
  send_far(far, HELD);
  must(sendmsg(ends[0], (struct msghdr*)(void*)far, 0) == 2 * PAGE, "sendmsg");
  const int waits = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77};
  must(epoll_ctl(waits, EPOLL_CTL_ADD, ends[1], put(&event, sizeof event)) == 0, "epoll_ctl");
  send_far(far_bytes, HELD);
  struct epoll_event* events = (struct epoll_event*)(void*)far_bytes;
  must(epoll_wait(waits, events, 100, -1) == 1 && events[0].data.u64 == 77, "epoll_wait");
  struct pollfd asked = {.fd = ends[1], .events = POLLIN};
  struct pollfd* polled = put(&asked, sizeof asked);
  must(poll(polled, 1, -1) == 1 && polled->revents == POLLIN, "poll");

  int pipes[2];
  pthread_t reader;
  must(pipe(pipes) == 0, "pipe");
  must(pthread_create(&reader, NULL, read_later, &pipes[0]) == 0, "pthread_create");
  for (int i = 0; i < 5; ++i) press();
  send_far(at, HELD);
  must(write(pipes[1], at, PAGE) == PAGE, "write to a pipe");
  void* found = NULL;
  must(pthread_join(reader, &found) == 0, "pthread_join");
  check("what a thread waited for", found, 1, 4);
}

static void children(void) {
  char** words = (char**)(void*)far_bytes;
  char* text = far_bytes + PAGE;
  strcpy(text, "exit 7");
  words[0] = strcpy(text + PAGE, "sh");
  words[1] = strcpy(text + 2 * PAGE, "-c");
  words[2] = text;
  words[3] = NULL;
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    send_far(far_bytes, HELD);
    execv("/bin/sh", words);
    _exit(1);
  }
  send_far(far_bytes, HELD);
  int* status = (int*)(void*)(far_bytes + 5 * PAGE);
  struct rusage* used = (struct rusage*)(void*)(far_bytes + 6 * PAGE);
  must(wait4(child, status, 0, used) == child, "wait4");
  must(WIFEXITED(*status) && WEXITSTATUS(*status) == 7, "a program with far arguments");
}

static void* wait_for_ever(void* end) {
  char* at = far_block(2, 5);
  read(*(int*)end, at, 2 * PAGE);
  return NULL;
}

static void cancelled(void) {
  int pipes[2];
  pthread_t reader;
  must(pipe(pipes) == 0, "pipe");
  for (int i = 0; i < 3; ++i) {
    must(pthread_create(&reader, NULL, wait_for_ever, &pipes[0]) == 0, "pthread_create");
    press();
    void* result = NULL;
    must(pthread_cancel(reader) == 0 && pthread_join(reader, &result) == 0, "pthread_cancel");
    must(result == PTHREAD_CANCELED, "a thread that waits in a call was not cancelled");
  }
}

static volatile sig_atomic_t handled;
static void on_signal(int number) {
  check("far memory in a handler", far_bytes, HELD, 8);
  handled = number;
}

/* As the kernel is told of them: signals that bring far memory in are never blocked. */
static void masks(void) {
  sigset_t all;
  sigfillset(&all);
  fill(far_bytes, HELD, 8);
  struct sigaction action = {.sa_handler = on_signal, .sa_mask = all};
  must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
  send_far(far_bytes, HELD);
  must(raise(SIGALRM) == 0 && handled == SIGALRM, "the handler did not run");
  must(sigset(SIGUSR1, SIG_HOLD) != SIG_ERR && sighold(SIGBUS) == 0, "sighold");
  send_far(far_bytes, HELD);
  check("far memory with SIGBUS held", far_bytes, HELD, 8);
}

static void wrong(void) {
  int ends[2];
  must(pipe(ends) == 0, "pipe");
  char* gone = fresh(HELD);
  must(munmap(gone, HELD * PAGE) == 0, "munmap");
  must(write(ends[1], gone, PAGE) == -1 && errno == EFAULT, "write of what is not mapped");
  char* volatile none = (char*)8;
  must(write(ends[1], none, PAGE) == -1 && errno == EFAULT, "write of nothing");
  char* shut = far_block(HELD, 2);
  must(mprotect(shut, HELD * PAGE, PROT_NONE) == 0, "mprotect");
  must(write(ends[1], shut, PAGE) == -1 && errno == EFAULT, "write of what is inaccessible");
  must(mprotect(shut, HELD * PAGE, PROT_READ) == 0, "mprotect");
  must(write(ends[1], shut, PAGE) == PAGE, "write of what may only be read");
  must(read(ends[0], shut, PAGE) == -1 && errno == EFAULT, "read into what may only be read");
}

int main(int count, char** words) {
  must(count == 2, "the folder is missing");
  far_bytes = fresh(HELD);
  fill(far_bytes, HELD, 1);
  files(words[1]);
  streams(words[1]);
  large(words[1]);
  sockets();
  children();
  cancelled();
  masks();
  wrong();
  puts("ok");
  return 0;
}
