// Touches 4096 pages out of order, three times over, as the argument says: "read" or "write".
// Prints "ok" if each holds what was put there.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { pages = 4096, page_bytes = 4096, step = 1237 };

static unsigned char value_of(int page) { return (unsigned char)(page % 255 + 1); }

int main(int count, char** words) {
  if (count != 2) return 2;
  const int writes = strcmp(words[1], "write") == 0;
  volatile unsigned char* held = malloc((size_t)pages * page_bytes);
  if (held == NULL) return 1;
  for (int i = 0; i < pages; ++i) held[(size_t)i * page_bytes] = value_of(i);
  for (int i = 0; i < 3 * pages; ++i) {
    const int page = i * step % pages;
    if (writes) {
      held[(size_t)page * page_bytes] = value_of(page);
    } else if (held[(size_t)page * page_bytes] != value_of(page)) {
      return 1;
    }
  }
  for (int i = 0; i < pages; ++i) {
    if (held[(size_t)i * page_bytes] != value_of(i)) return 1;
  }
  puts("ok");
}
