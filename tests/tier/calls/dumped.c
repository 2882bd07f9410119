/* What a core dump would hold: what the program has mapped, and none of what is kept for that, of
 * which the kernel would look at each page of terabytes. */

#include "../hazards/hazard.h"

/* Of the mapping that this address lies in; null for all of 1 GiB and more. */
static int is_dumped(const char* at) {
  FILE* file = fopen("/proc/self/smaps", "r");
  must(file != NULL, "smaps");
  char line[512];
  unsigned long begin = 0, end = 0, from, to;
  int dumped = 0, found = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
      begin = from;
      end = to;
    }
    if (strncmp(line, "VmFlags:", 8) != 0) continue;
    const int meant =
        at == NULL ? end - begin >= (1ul << 30) : begin <= (uintptr_t)at && (uintptr_t)at < end;
    found += meant;
    dumped += meant && strstr(line, " dd") == NULL;
  }
  fclose(file);
  must(found > 0, "no such mapping");
  return dumped > 0;
}

int main(void) {
  must(!is_dumped(NULL), "what is kept is dumped");
  char* at = far_block(HELD, 1);
  must(is_dumped(at), "what is mapped is not dumped");
  char* moved = mremap(at, (size_t)HELD * PAGE, (size_t)HELD * PAGE * 2, MREMAP_MAYMOVE);
  must(moved != MAP_FAILED && is_dumped(moved), "what has grown is not dumped");
  must(is_dumped(moved + (HELD * 2 - 1) * PAGE), "what it has grown by is not dumped");
  char* page = moved + PAGE;
  const int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
  must(mmap(page, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) == page && is_dumped(page),
       "what is mapped in its place is not dumped");
  must(munmap(moved, (size_t)HELD * PAGE * 2) == 0 && !is_dumped(moved),
       "what was given back is dumped");
  must(!is_dumped(NULL), "what is kept is dumped");
  puts("ok");
  return 0;
}
