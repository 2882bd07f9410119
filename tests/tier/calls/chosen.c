/* Addresses that the program asks for: it gets them where nothing is mapped, and what is there
 * stays where something is. */

#include "../hazards/hazard.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PART = HELD / 4 };

static char* map_at(char* at, size_t pages, int flags) {
  return mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

int main(void) {
  char* at = far_block(HELD, 1);
  char* hole = at + PART * PAGE;
  must(munmap(hole, PART * PAGE) == 0, "munmap");

  char* other = map_at(at, PART, 0);
  must(other != MAP_FAILED && other != at, "a wish for what is mapped");
  must(munmap(other, PART * PAGE) == 0, "munmap");
  other = map_at(hole, PART + 1, 0);
  must(other != MAP_FAILED && other != hole, "a wish for what is mapped in part");
  must(munmap(other, (PART + 1) * PAGE) == 0, "munmap");
  must(map_at(at, PART, MAP_FIXED_NOREPLACE) == MAP_FAILED && errno == EEXIST, "over a mapping");
  must(map_at(hole, PART + 1, MAP_FIXED_NOREPLACE) == MAP_FAILED && errno == EEXIST,
       "over part of a mapping");

  must(map_at(hole, PART, 0) == hole, "a wish for what is free");
  check("memory as wished for", hole, PART, 0);
  fill(hole, PART, 2);
  send_far(at, HELD);
  check("memory as wished for", hole, PART, 2);
  must(munmap(hole, PART * PAGE) == 0, "munmap");
  must(map_at(hole, PART, MAP_FIXED_NOREPLACE) == hole, "where nothing is mapped");
  check("memory where nothing was", hole, PART, 0);
  fill(hole, PART, 3);
  send_far(at, HELD);
  check("memory where nothing was", hole, PART, 3);

  check("memory before it", at, PART, 1);
  for (size_t i = 2 * PART * WORDS; i < HELD * WORDS; ++i)
    must(((const uint64_t*)(const void*)at)[i] == word(1, i), "memory behind it");
  puts("ok");
  return 0;
}
