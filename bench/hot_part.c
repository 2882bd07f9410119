/* Reads a small part of its memory again and again, and says where that lies:
 *
 *   hot_part MIB HOT SECONDS NODE [wait]
 *
 * HOT per cent of the pages, the last ones, are read. All lie on NODE at first; below 0: where they
 * come. With `wait`, it says when it has written them, and reads from the next line of its input
 * on. About ten times a second it prints the milliseconds since it began to read, how many of
 * these pages are on another node than the last one, how many they are, and how many words it has
 * read. Exit status 1 if a word was not what it had written. */

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, BIND = 2, MOST = 65536 };

static uint64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The kernel says -2 of pages that are out of their place at this moment, as they are probed. */
static size_t near_pages(char* at, size_t pages) {
  static void* places[MOST];
  static int nodes[MOST];
  size_t near = 0;
  for (size_t i = 0; i < pages; ++i) places[i] = at + i * PAGE;
  if (syscall(SYS_move_pages, 0, pages, places, NULL, nodes, 0) != 0) return 0;
  for (size_t i = 0; i < pages; ++i) near += nodes[i] == 0;
  return near;
}

int main(int count, char** words) {
  if (count != 5 && count != 6) return 2;
  const size_t pages = ((size_t)atoi(words[1]) << 20) / PAGE;
  const size_t hot = pages * (size_t)atoi(words[2]) / 100;
  const uint64_t most = (uint64_t)atoi(words[3]) * 1000;
  const int node = atoi(words[4]);
  const unsigned long nodes = node < 0 ? 0 : 1UL << node;
  if (hot == 0 || hot > MOST) return 2;
  char* memory =
      mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
  if (node >= 0 && syscall(SYS_mbind, memory, pages * PAGE, BIND, &nodes, 64, 0) != 0) return 2;
  for (size_t i = 0; i < pages; ++i) *(uint64_t*)(void*)(memory + i * PAGE) = i;
  if (node >= 0) syscall(SYS_mbind, memory, pages * PAGE, 0, NULL, 0, 0);
  if (count == 6) {
    puts("written");
    fflush(stdout);
    while (getchar() != '\n') continue;
  }
  char* part = memory + (pages - hot) * PAGE;
  const uint64_t begun = milliseconds();
  uint64_t random = 88172645463325252U;
  uint64_t read = 0;
  int wrong = 0;
  for (uint64_t now = begun, next = begun; now - begun < most; now = milliseconds()) {
    for (int i = 0; i < 200; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      const size_t page = random % hot;
      wrong |= *(volatile uint64_t*)(void*)(part + page * PAGE) != pages - hot + page;
    }
    read += 200;
    if (now < next) continue;
    next = now + 100;
    printf("%llu %zu %zu %llu\n", (unsigned long long)(now - begun), near_pages(part, hot), hot,
           (unsigned long long)read);
    fflush(stdout);
  }
  return wrong;
}
