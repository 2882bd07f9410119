/* Merge sort of 64-bit keys, bottom-up, runs of 32 by insertion: branches that cannot be foretold.
 */
#include "measured.h"

enum { KEYS = 1 << 21, CHUNK = 1 << 14, RUN = 32 };

static uint64_t* input;
static uint64_t* keys;
static uint64_t* other;

static void set_up(void) {
  input = memory_of(KEYS * sizeof *input);
  keys = memory_of(CHUNK * sizeof *keys);
  other = memory_of(CHUNK * sizeof *other);
  for (int i = 0; i < KEYS; ++i) input[i] = random_word();
}

static void sort_run(uint64_t* run, int count) {
  for (int i = 1; i < count; ++i) {
    const uint64_t key = run[i];
    int at = i;
    for (; at > 0 && run[at - 1] > key; --at) run[at] = run[at - 1];
    run[at] = key;
  }
}

static void merge(const uint64_t* left, const uint64_t* middle, const uint64_t* end,
                  uint64_t* into) {
  const uint64_t* right = middle;
  while (left < middle && right < end) {
    if (*right < *left) {
      *into++ = *right++;
    } else {
      *into++ = *left++;
    }
  }
  while (left < middle) *into++ = *left++;
  while (right < end) *into++ = *right++;
}

/* One chunk of the input, copied and sorted. */
static uint64_t step(uint64_t i) {
  memcpy(keys, input + (i * CHUNK) % KEYS, CHUNK * sizeof *keys);
  for (int at = 0; at < CHUNK; at += RUN) sort_run(keys + at, RUN);
  uint64_t* from = keys;
  uint64_t* into = other;
  for (int width = RUN; width < CHUNK; width *= 2) {
    for (int at = 0; at < CHUNK; at += 2 * width) {
      merge(from + at, from + at + width, from + at + 2 * width, into + at);
    }
    uint64_t* const sorted = into;
    into = from;
    from = sorted;
  }
  return from[0] ^ from[CHUNK / 2] ^ from[CHUNK - 1];
}

MEASURED_MAIN(set_up, step)
