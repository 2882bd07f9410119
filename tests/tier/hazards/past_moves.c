/* Memory that moves on by mremaps of the program's own, again and again, while the contents of its
 * far pages still follow it to where it has left already, keeps them. */

#include "own_calls.h"

enum { BLOCKS = 20, MOVES = 4 };

int main(void) {
  for (int block = 0; block < BLOCKS; ++block) {
    char* at = fresh(PRESSED); /* near, in limbo and far at once */
    fill(at, PRESSED, 1);
    for (int i = 0; i < MOVES; ++i)
      at = remap_past(at, PRESSED, PRESSED, MREMAP_MAYMOVE | MREMAP_FIXED,
                      map_past(NULL, PRESSED, PROT_NONE));
    check("memory that has moved on at once", at, PRESSED, 1);
    unmap_past(at, PRESSED);
  }
  puts("ok");
  return 0;
}
