"""All processes of a run share one simulated time: hearing of another brings its time along."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import Compile, needs_front_end
from running import simulated

pytestmark = needs_front_end

# What the processes note lies in memory that they share, which orders nothing.
HEAD = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile long* noted;
static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static long used(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void work(void) { for (volatile long i = 0; i < 20000; ++i) {} }
static void must(int done, const char* what) {
  if (done) return;
  perror(what);
  exit(1);
}
static void begin(void) {
  noted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(noted != MAP_FAILED, "mmap");
}
"""

# A client works, asks a server, and waits for the answer that this works for: what each does is
# seen in the other's clock, over everything that carries bytes.
TALK = (
    HEAD
    + r"""
static void client(const char* how, int to, int from) {
  char byte = 0;
  work();
  long asked = now();
  must(write(to, &byte, 1) == 1, "write");
  struct pollfd ready = {from, POLLIN, 0};
  must(poll(&ready, 1, -1) == 1, "poll");
  long polled = now();
  must(read(from, &byte, 1) == 1, "read");
  printf("%s %ld %ld %ld %ld %ld\n", how, asked, noted[0], noted[1], polled, now());
  must(read(from, &byte, 1) == 0, "read");
  printf("end-of-%s %ld %ld\n", how, noted[2], now());
}
static void server(int from, int to) {
  char byte;
  int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = 7};
  must(epoll_ctl(set, EPOLL_CTL_ADD, from, &event) == 0, "epoll_ctl");
  must(epoll_wait(set, &event, 1, -1) == 1, "epoll_wait");
  noted[0] = now();
  must(read(from, &byte, 1) == 1, "read");
  work();
  noted[1] = now();
  must(write(to, &byte, 1) == 1, "write");
  work();
  noted[2] = now();
  _exit(0);
}
static void over_pipes(const char* how, int first[2], int second[2]) {
  if (fork() == 0) server(first[0], second[1]);
  close(second[1]);
  client(how, first[1], second[0]);
  wait(NULL);
  close(first[0]); close(first[1]); close(second[0]);
}
static void over_address(const char* how, struct sockaddr* address, socklen_t bytes) {
  int waiting = socket(address->sa_family, SOCK_STREAM, 0);
  must(bind(waiting, address, bytes) == 0, "bind");
  must(listen(waiting, 1) == 0, "listen");
  must(getsockname(waiting, address, &bytes) == 0, "getsockname");
  if (fork() == 0) {
    int got = accept(waiting, NULL, NULL);
    noted[3] = now();
    server(got, got);
  }
  close(waiting);
  work();
  noted[4] = now();
  int mine = socket(address->sa_family, SOCK_STREAM, 0);
  must(connect(mine, address, bytes) == 0, "connect");
  client(how, mine, mine);
  printf("accepted-%s %ld %ld\n", how, noted[4], noted[3]);
  wait(NULL);
  close(mine);
}
static void datagrams(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t bytes = sizeof at;
  int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
  must(bind(in, (struct sockaddr*)&at, bytes) == 0, "bind");
  must(getsockname(in, (struct sockaddr*)&at, &bytes) == 0, "getsockname");
  if (fork() == 0) {
    work();
    noted[0] = now();
    must(sendto(out, "x", 1, 0, (struct sockaddr*)&at, bytes) == 1, "sendto");
    _exit(0);
  }
  char byte;
  must(recv(in, &byte, 1, 0) == 1, "recv");
  printf("datagram %ld %ld\n", noted[0], now());
  wait(NULL);
}
int main(int count, char** words) {
  begin();
  int first[2], second[2];
  must(pipe(first) == 0 && pipe(second) == 0, "pipe");
  over_pipes("pipe", first, second);
  must(mkfifo(words[1], 0600) == 0 && mkfifo(words[2], 0600) == 0, "mkfifo");
  for (int i = 0; i < 2; ++i) {
    int* fifo = i ? second : first;
    fifo[0] = open(words[1 + i], O_RDONLY | O_NONBLOCK);
    fifo[1] = open(words[1 + i], O_WRONLY);
    must(fcntl(fifo[0], F_SETFL, 0) == 0, "fcntl");
  }
  over_pipes("fifo", first, second);
  must(socketpair(AF_UNIX, SOCK_STREAM, 0, first) == 0, "socketpair");
  if (fork() == 0) server(first[1], first[1]);
  close(first[1]);
  client("pair", first[0], first[0]);
  wait(NULL);
  struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  over_address("tcp", (struct sockaddr*)&tcp, sizeof tcp);
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  strcpy(un.sun_path, words[3]);
  over_address("unix", (struct sockaddr*)&un, sizeof un);
  datagrams();
  return count == 4 ? 0 : 1;
}
"""
)


def noted(out: str) -> dict[str, list[int]]:
    """Lines of a name and times in ns."""
    return {
        words[0]: [int(word) for word in words[1:]] for words in map(str.split, out.splitlines())
    }


@pytest.mark.parametrize("core", ["count", "window"])
def test_a_client_sees_the_time_of_its_server_over_every_channel(
    compiled: Compile, tmp_path: Path, core: str
) -> None:
    program = compiled("talk", TALK)
    words = [program, *(tmp_path / name for name in ("first", "second", "socket"))]
    out, err, ran = simulated("model:ddr4-2666", words, os.environ, "--core", core)
    assert (err, ran.exit_code, list(ran.notes)) == ("", 0, [])
    times = noted(out)
    assert len(times) == 5 + 5 + 2 + 1
    for name, found in times.items():
        # Asked, got, answered, polled, read; accepted after connecting; the end after the end.
        assert found == sorted(found), name
    for name in ("pipe", "fifo", "pair", "tcp", "unix"):
        _, got, answered, *_ = times[name]
        assert answered - got >= 4000  # 20000 rounds take longer at any width and clock
        assert times[f"end-of-{name}"][0] - answered >= 4000


SIGNALS = (
    HEAD
    + r"""
static volatile sig_atomic_t count;
static void on_signal(int number) { (void)number; ++count; }
int main(void) {
  begin();
  sigset_t none, alarms;
  sigemptyset(&none);
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarms, NULL);
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGALRM, &action, NULL);
  pid_t child = fork();
  if (child == 0) {
    while (poll(NULL, 0, 100000) != -1 || errno != EINTR) {}
    noted[0] = now();
    noted[1] = 1;
    _exit(0);
  }
  work();
  noted[2] = now();
  /* Again and again: the child may not wait yet. */
  while (noted[1] == 0) {
    kill(child, SIGUSR1);
    work();
  }
  printf("wait %ld %ld %ld\n", noted[2], noted[0], now());
  waitpid(child, NULL, 0);
  /* Of a real timer, which ticks while the process waits. */
  long begun = now();
  struct itimerval timer = {{0, 50000}, {0, 50000}};
  setitimer(ITIMER_REAL, &timer, NULL);
  int tries = 0;
  while (now() - begun < 60000000 && ++tries < 400) sigsuspend(&none);
  printf("timer %ld\n", now() - begun);
  return 0;
}
"""
)


def test_a_signal_brings_its_time_and_a_wait_that_it_ends_takes_until_then(
    compiled: Compile,
) -> None:
    out, err, ran = simulated("model:ddr4-2666", [compiled("signals", SIGNALS)], os.environ)
    assert (err, ran.exit_code) == ("", 0)
    times = noted(out)
    first_sent, woke, last_sent = times["wait"]
    assert first_sent <= woke < last_sent + 1_000_000  # not at the limit, nor by the real clock
    assert times["timer"][0] >= 60_000_000


CHAIN = (
    HEAD
    + r"""
static void link_of_chain(int depth) {
  work();
  if (depth > 0) {
    pid_t child = fork();
    if (child == 0) link_of_chain(depth - 1);
    struct rusage told;
    must(wait4(child, NULL, 0, &told) == child, "wait4");
    noted[10 + depth] = told.ru_utime.tv_sec * 1000000 + told.ru_utime.tv_usec;
  }
  noted[20 + depth] = used() / 1000;
  noted[depth] = now();
  if (depth < 4) _exit(0);
}
int main(int count, char** words) {
  if (count > 1) {  /* the same process went on as another program */
    printf("carried %ld %ld\n", atol(words[1]), used());
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    printf("carried-children %ld %ld\n", atol(words[2]), children.ru_utime.tv_usec);
    return 0;
  }
  begin();
  link_of_chain(4);
  for (int i = 0; i < 4; ++i) printf("end-%d %ld %ld\n", i, noted[i], noted[i + 1]);
  for (int i = 0; i < 4; ++i) printf("used-%d %ld %ld\n", i, noted[20 + i], noted[11 + i]);
  struct rusage children;
  getrusage(RUSAGE_CHILDREN, &children);
  printf("children %ld %ld\n", noted[20] + noted[21] + noted[22] + noted[23],
         children.ru_utime.tv_usec);
  fflush(stdout);
  char own[32], theirs[32];
  snprintf(own, sizeof own, "%ld", used());
  snprintf(theirs, sizeof theirs, "%ld", (long)children.ru_utime.tv_usec);
  execl("/proc/self/exe", words[0], own, theirs, (char*)NULL);
  return 1;
}
"""
)


def test_ends_of_children_and_their_usage_come_up_a_chain_of_forks(compiled: Compile) -> None:
    out, err, ran = simulated("model:ddr4-2666", [compiled("chain", CHAIN)], os.environ)
    assert (err, ran.exit_code) == ("", 0)
    times = noted(out)
    assert len(times) == 4 + 4 + 1 + 2
    for name, (earlier, later) in times.items():
        assert earlier <= later, name
    least, children = times["children"]
    assert 4 * 4 <= least <= children <= least + 4 * 100  # us; what a child does behind its note
    assert times["carried-children"][0] == times["carried-children"][1]
