/* Breadth-first search in a random graph whose degrees are skewed: gathers at random places. */
#include "measured.h"

enum { VERTICES = 1 << 18, EDGES = 1 << 21, PART = 1 << 12 };

static uint32_t* begins; /* of a vertex's edges in `ends` */
static uint32_t* ends;
static uint32_t* depth;
static uint32_t* queue;
static uint32_t depth_base = 1; /* of the search: lower depths are from searches before it */
static uint32_t first, last;
static uint32_t sources;

/* Of two draws the lower, so that low numbers have more edges; scattered over the vertices. */
static uint32_t skewed_vertex(void) {
  const uint32_t one = random_below(VERTICES);
  const uint32_t two = random_below(VERTICES);
  return ((one < two ? one : two) * 2654435761u) % VERTICES;
}

static void set_up(void) {
  uint32_t* const from = memory_of(EDGES * sizeof *from);
  uint32_t* const to = memory_of(EDGES * sizeof *to);
  begins = memory_of((VERTICES + 2) * sizeof *begins);
  ends = memory_of(EDGES * sizeof *ends);
  depth = memory_of(VERTICES * sizeof *depth);
  queue = memory_of(VERTICES * sizeof *queue);
  for (int i = 0; i < EDGES; ++i) {
    from[i] = skewed_vertex();
    to[i] = skewed_vertex();
    ++begins[from[i] + 2];
  }
  for (int i = 2; i < VERTICES + 2; ++i) begins[i] += begins[i - 1];
  for (int i = 0; i < EDGES; ++i) ends[begins[from[i] + 1]++] = to[i];
  free(from);
  free(to);
}

static void begin_search(void) {
  depth_base += 1000;
  const uint32_t source = (sources++ * 40503u) % VERTICES;
  first = 0;
  last = 1;
  queue[0] = source;
  depth[source] = depth_base;
}

/* The next vertices of the queue; when it is empty another search begins. */
static uint64_t step(uint64_t i) {
  uint64_t sum = i;
  for (int taken = 0; taken < PART; ++taken) {
    if (first == last) begin_search();
    const uint32_t vertex = queue[first++];
    for (uint32_t edge = begins[vertex]; edge < begins[vertex + 1]; ++edge) {
      const uint32_t other = ends[edge];
      if (depth[other] >= depth_base) continue;
      depth[other] = depth[vertex] + 1;
      queue[last++] = other;
    }
    sum += depth[vertex];
  }
  return sum;
}

MEASURED_MAIN(set_up, step)
