/*
 * In the place of PARSEC's blackscholes in KIT's table 5.1: there 700 MB, which fit into 1 GB of
 * near memory; here a 1024th of it. A step is the whole program, from its first allocation.
 */
#include "heap_programs.h"
#include "measured.h"

static void set_up(void) {}

static uint64_t step(uint64_t i) {
  uint64_t operations = i;
  size_t allocated = 0;
  return price_options(700 << 10, 4, &operations, &allocated);
}

MEASURED_MAIN(set_up, step)
