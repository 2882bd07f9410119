/* One load after another, each address from the load before it: latency with nothing to hide it. */
#include "measured.h"

enum { LINES = 1 << 18, LINE_WORDS = 8, LOADS = 20000 }; /* 16 MiB */

static uint64_t* area;
static uint64_t at;

static void set_up(void) {
  area = memory_of((size_t)LINES * LINE_WORDS * sizeof *area);
  uint32_t* const order = memory_of(LINES * sizeof *order);
  for (uint32_t i = 0; i < LINES; ++i) order[i] = i;
  for (uint32_t i = LINES - 1; i > 0; --i) {
    const uint32_t other = random_below(i + 1);
    const uint32_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (uint32_t i = 0; i < LINES; ++i) {
    area[(size_t)order[i] * LINE_WORDS] = (uint64_t)order[(i + 1) % LINES] * LINE_WORDS;
  }
  free(order);
}

static uint64_t step(uint64_t i) {
  (void)i;
  for (int load = 0; load < LOADS; ++load) at = area[at];
  return at;
}

MEASURED_MAIN(set_up, step)
