/* PageRank by pulling: each vertex sums what its neighbours give, which lie anywhere. */
#include "measured.h"

enum { VERTICES = 1 << 18, EDGES = 1 << 21, PART = 1 << 12 };

static uint32_t* begins; /* of the edges that lead to a vertex, in `sources` */
static uint32_t* sources;
static uint32_t* degree;
static double* given; /* what a vertex gives to each that it leads to */
static double* rank;

static void set_up(void) {
  begins = memory_of((VERTICES + 1) * sizeof *begins);
  sources = memory_of(EDGES * sizeof *sources);
  degree = memory_of(VERTICES * sizeof *degree);
  given = memory_of(VERTICES * sizeof *given);
  rank = memory_of(VERTICES * sizeof *rank);
  uint32_t edge = 0;
  for (uint32_t vertex = 0; vertex < VERTICES; ++vertex) {
    begins[vertex] = edge;
    /* Eight in the mean; some have many. */
    uint32_t wanted = random_below(16) + (random_below(64) == 0 ? 32 : 0);
    for (; wanted > 0 && edge < EDGES; --wanted) {
      sources[edge] = random_below(VERTICES);
      ++degree[sources[edge++]];
    }
  }
  begins[VERTICES] = edge;
  for (uint32_t vertex = 0; vertex < VERTICES; ++vertex) {
    rank[vertex] = 1.0;
    given[vertex] = 1.0 / (degree[vertex] + 1);
  }
}

/* A part of the vertices; when all have their new rank, what they give follows. */
static uint64_t step(uint64_t i) {
  const uint32_t begin = (uint32_t)(i * PART % VERTICES);
  for (uint32_t vertex = begin; vertex < begin + PART; ++vertex) {
    double sum = 0;
    for (uint32_t edge = begins[vertex]; edge < begins[vertex + 1]; ++edge) {
      sum += given[sources[edge]];
    }
    rank[vertex] = 0.15 + 0.85 * sum;
  }
  if (begin + PART == VERTICES) {
    for (uint32_t vertex = 0; vertex < VERTICES; ++vertex) {
      given[vertex] = rank[vertex] / (degree[vertex] + 1);
    }
  }
  return (uint64_t)(1e6 * rank[begin + PART / 2]);
}

MEASURED_MAIN(set_up, step)
