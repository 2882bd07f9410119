/* An allocation that fails says why. */

#include "../hazards/hazard.h"

static void must_fail(const void* allocated) {
  must(allocated == NULL && errno == ENOMEM, "an allocation of too much");
  errno = 0;
}

int main(void) {
  char* held = malloc(PAGE);
  must(held != NULL, "malloc");
  volatile size_t too_much = SIZE_MAX - PAGE;
  errno = 0;
  must_fail(malloc(too_much));
  must_fail(calloc(1, too_much));
  must_fail(realloc(held, too_much));
  free(held);
  puts("ok");
  return 0;
}
