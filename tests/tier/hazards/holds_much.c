/* Holds more memory than it may have: 192 MiB. */

#include "hazard.h"

int main(void) {
  const size_t pages = 49152;
  fill(fresh(pages), pages, 1);
  puts("ok");
  return 0;
}
