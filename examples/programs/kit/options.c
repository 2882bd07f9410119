// A program with a heap that does to memory what blackscholes of PARSEC does: it computes much on
// arrays that it passes over.

#include <math.h>
#include <stdlib.h>

#include "heap_programs.h"

static double normal_below(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

/// Prices options by the formula of Black and Scholes, `amount` times over all of them.
uint64_t price_options(size_t bytes, double amount, uint64_t* operations, size_t* allocated) {
  enum { fields = 6 };
  const size_t count = bytes / (fields * sizeof(double));
  double* field[fields];
  for (int i = 0; i < fields; ++i) field[i] = malloc(count * sizeof(double));
  *allocated = count * fields * sizeof(double);
  uint64_t seed = 42;
  for (size_t i = 0; i < count; ++i) {
    field[0][i] = 50 + (double)(next_random(&seed) % 100);
    field[1][i] = 50 + (double)(next_random(&seed) % 100);
    field[2][i] = 0.01 + 0.0001 * (double)(next_random(&seed) % 100);
    field[3][i] = 0.10 + 0.005 * (double)(next_random(&seed) % 100);
    field[4][i] = 0.25 + 0.01 * (double)(next_random(&seed) % 100);
  }
  double sum = 0;
  for (int pass = 0; pass < (int)amount; ++pass) {
    for (size_t i = 0; i < count; ++i) {
      const double spread = field[3][i] * sqrt(field[4][i]);
      const double first = (log(field[0][i] / field[1][i]) +
                            (field[2][i] + 0.5 * field[3][i] * field[3][i]) * field[4][i]) /
                           spread;
      const double discounted = field[1][i] * exp(-field[2][i] * field[4][i]);
      field[5][i] = field[0][i] * normal_below(first) - discounted * normal_below(first - spread);
      sum += field[5][i];
    }
  }
  *operations = (uint64_t)amount * count;
  return (uint64_t)sum;
}
