/* Writes to one quarter of its memory again and again, after a line of input to another quarter,
   after the next to none. After a third it looks at every word. Answers each with a line. With an
   argument, it reads instead of writing. */

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4096, QUARTER = PAGES / 4 };

static char* memory;
static int only_reads;

static uint64_t* word(size_t page) { return (uint64_t*)(void*)(memory + page * PAGE); }

static int has_input(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  return poll(&input, 1, 0) != 0;
}

static void take_line(void) {
  char c = 0;
  while (read(0, &c, 1) == 1 && c != '\n') continue;
}

static void answer(const char* line) {
  fputs(line, stdout);
  fflush(stdout);
}

static void use(size_t quarter) {
  while (!has_input()) {
    for (size_t i = 0; i < QUARTER; ++i) {
      volatile uint64_t* used = word(quarter * QUARTER + i);
      if (only_reads)
        (void)used[1];
      else
        ++used[1];
    }
  }
  take_line();
}

int main(int count, char** words) {
  only_reads = count > 1 && words[1] != NULL;
  memory = aligned_alloc(PAGE, (size_t)PAGES * PAGE);
  if (memory == NULL) return 1;
  for (size_t i = 0; i < PAGES; ++i) *word(i) = i * 77;
  answer("filled\n");
  use(2);
  answer("another part\n");
  use(3);
  answer("idle\n");
  take_line();
  size_t wrong = 0;
  for (size_t i = 0; i < PAGES; ++i) wrong += *word(i) != i * 77;
  answer(wrong == 0 ? "all words are right\n" : "wrong\n");
  return wrong != 0;
}
