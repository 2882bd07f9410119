/* Jacobi iteration on a grid, five points: sequential streams that share lines between rows. */
#include "measured.h"

enum { WIDTH = 2048, HEIGHT = 1024, ROWS = 16 }; /* two grids of 8 MiB */

static float* from;
static float* into;

static void set_up(void) {
  from = memory_of(sizeof *from * WIDTH * HEIGHT);
  into = memory_of(sizeof *into * WIDTH * HEIGHT);
  for (int i = 0; i < WIDTH * HEIGHT; ++i) from[i] = (float)random_below(1024);
  memcpy(into, from, sizeof *from * WIDTH * HEIGHT);
}

/* Some rows; when all are done the grids change places. */
static uint64_t step(uint64_t i) {
  const int parts = HEIGHT / ROWS;
  const int part = (int)(i % (uint64_t)parts);
  const int last = (part + 1) * ROWS < HEIGHT - 1 ? (part + 1) * ROWS : HEIGHT - 1;
  for (int y = part == 0 ? 1 : part * ROWS; y < last; ++y) {
    const float* const row = from + (size_t)y * WIDTH;
    float* const result = into + (size_t)y * WIDTH;
    for (int x = 1; x < WIDTH - 1; ++x) {
      result[x] = 0.2f * (row[x] + row[x - 1] + row[x + 1] + row[x - WIDTH] + row[x + WIDTH]);
    }
  }
  const uint64_t found = (uint64_t)(1000 * into[(size_t)(last - 1) * WIDTH + WIDTH / 2]);
  if (part == parts - 1) {
    float* const done = into;
    into = from;
    from = done;
  }
  return found;
}

MEASURED_MAIN(set_up, step)
