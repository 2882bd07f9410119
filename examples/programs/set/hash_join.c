/*
 * A hash join of two tables: the smaller is in a hash table of chains, the larger is read in order
 * and each of its rows is looked up. Independent misses, as many as the processor can have.
 */
#include "measured.h"

enum { BUILD_ROWS = 1 << 19, PROBE_ROWS = 1 << 21, BUCKETS = 1 << 19, PART = 1 << 13 };

struct row {
  uint32_t key;
  uint32_t value;
};

static struct row* build_side;
static struct row* probe_side;
static uint32_t* heads; /* of chains, one more than the row's number; 0 is none */
static uint32_t* next;

static uint32_t bucket_of(uint32_t key) { return (key * 2654435769u) >> (32 - 19); }

static void set_up(void) {
  build_side = memory_of(BUILD_ROWS * sizeof *build_side);
  probe_side = memory_of(PROBE_ROWS * sizeof *probe_side);
  heads = memory_of(BUCKETS * sizeof *heads);
  next = memory_of(BUILD_ROWS * sizeof *next);
  for (uint32_t i = 0; i < BUILD_ROWS; ++i) {
    build_side[i].key = random_below(1u << 20);
    build_side[i].value = i;
    const uint32_t bucket = bucket_of(build_side[i].key);
    next[i] = heads[bucket];
    heads[bucket] = i + 1;
  }
  for (uint32_t i = 0; i < PROBE_ROWS; ++i) {
    probe_side[i].key = random_below(1u << 20);
    probe_side[i].value = i;
  }
}

static uint64_t step(uint64_t i) {
  const struct row* const begin = probe_side + (i * PART) % PROBE_ROWS;
  uint64_t sum = 0;
  for (const struct row* row = begin; row < begin + PART; ++row) {
    for (uint32_t at = heads[bucket_of(row->key)]; at != 0; at = next[at - 1]) {
      if (build_side[at - 1].key == row->key) sum += build_side[at - 1].value ^ row->value;
    }
  }
  return sum;
}

MEASURED_MAIN(set_up, step)
