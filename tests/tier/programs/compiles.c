/* Writes functions into memory, lets them leave, makes them executable, as a just-in-time compiler
   does, and calls them again and again while it uses more other memory than may be near. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 128, OTHERS = 2048 };

typedef int function(void);

static char* fresh(size_t pages) {
  char* at =
      mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) exit(1);
  return at;
}

/* mov eax, the page's number; ret. */
static void compile(char* at, int number) {
  memcpy(at, "\xb8", 1);
  memcpy(at + 1, &number, sizeof number);
  memcpy(at + 5, "\xc3", 1);
}

int main(void) {
  char* code = fresh(PAGES);
  char* others = fresh(OTHERS);
  for (int i = 0; i < PAGES; ++i) compile(code + (size_t)i * PAGE, i);
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < OTHERS; ++i) ++others[i * PAGE];
    if (round == 1 && mprotect(code, (size_t)PAGES * PAGE / 2, PROT_READ | PROT_EXEC) != 0) return 2;
    if (round == 2 && mprotect(code, (size_t)PAGES * PAGE, PROT_READ | PROT_EXEC) != 0) return 2;
    for (int i = 0; round > 1 && i < PAGES; ++i) {
      function* called = NULL;
      char* at = code + (size_t)i * PAGE;
      memcpy(&called, &at, sizeof called);
      if (called() != i) return 3;
    }
  }
  for (size_t i = 0; i < OTHERS; ++i)
    if (others[i * PAGE] != 20) return 4;
  if (munmap(code, (size_t)PAGES * PAGE) != 0) return 5;
  puts("ok");
  return 0;
}
