/* Matrices of doubles, in blocks that fit the first cache: arithmetic on data that is near. */
#include "measured.h"

enum { N = 512, BLOCK = 32 };

static double* a;
static double* b;
static double* c;

static void set_up(void) {
  a = memory_of(sizeof(double) * N * N);
  b = memory_of(sizeof(double) * N * N);
  c = memory_of(sizeof(double) * N * N);
  for (int i = 0; i < N * N; ++i) {
    a[i] = (double)random_below(16);
    b[i] = (double)random_below(16);
  }
}

static void multiply_block(int row, int column, int inner) {
  for (int i = row; i < row + BLOCK; ++i) {
    for (int k = inner; k < inner + BLOCK; ++k) {
      const double factor = a[i * N + k];
      for (int j = column; j < column + BLOCK; ++j) c[i * N + j] += factor * b[k * N + j];
    }
  }
}

/* One block of the result. */
static uint64_t step(uint64_t i) {
  const int across = N / BLOCK;
  const int block = (int)(i % (uint64_t)(across * across));
  const int row = block / across * BLOCK;
  const int column = block % across * BLOCK;
  for (int inner = 0; inner < N; inner += BLOCK) multiply_block(row, column, inner);
  return (uint64_t)c[row * N + column];
}

MEASURED_MAIN(set_up, step)
