/* Memory for code, wished for where other code reaches it, is mapped there; other wishes are not
 * followed, and the mapping is managed. */

#include "../hazards/hazard.h"

enum { PART = 16 };

static char* wish(char* at) {
  char* had = mmap(at, PART * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(had != MAP_FAILED, "mmap");
  check("fresh memory", had, PART, 0);
  fill(had, PART, 1);
  return had;
}

static int seven(void) { return 7; }

int main(void) {
  char* code = (char*)((uintptr_t)(void*)main / PAGE * PAGE);
  char* beside = code - ((size_t)64 << 20);
  must(wish(beside) == beside, "a wish beside the code");
  must(wish(beside) != beside, "a wish for what is mapped");

  memcpy(beside, (const void*)seven, 64);
  must(mprotect(beside, PART * PAGE, PROT_READ | PROT_EXEC) == 0, "mprotect");
  int (*copied)(void);
  *(void**)&copied = beside;
  must(copied() == 7, "code that was made");
  must(munmap(beside, PART * PAGE) == 0, "munmap");

  char* elsewhere = (char*)((uintptr_t)3 << 40);
  char* had = wish(elsewhere);
  must(had != elsewhere, "a wish far from the code");
  send_far(had, PART);
  check("memory elsewhere", had, PART, 1);
  puts("ok");
  return 0;
}
