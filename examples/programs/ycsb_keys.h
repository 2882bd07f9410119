#pragma once

/*
 * YCSB's workloads A to F (Cooper et al., SoCC 2010) by their published definitions: which
 * operation comes next, and on which key. Keys are drawn by a Zipf law of exponent 0.99, whose
 * ranks are scattered over the keys by a hash; workload D prefers the newest. Link with -lm.
 */
#include <math.h>
#include <stdint.h>

enum ycsb_operation { YCSB_READ, YCSB_UPDATE, YCSB_INSERT, YCSB_SCAN, YCSB_MODIFY };

struct ycsb {
  char workload; /* A to F */
  uint64_t keys; /* that there are now: 0 to keys - 1 */
  uint64_t zipf_keys; /* for which zeta is known */
  double zeta, eta, alpha;
  uint64_t state;
};

#define YCSB_THETA 0.99

static inline uint64_t ycsb_random(struct ycsb* ycsb) {
  uint64_t z = ycsb->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static inline uint64_t ycsb_below(struct ycsb* ycsb, uint64_t bound) {
  return (uint64_t)((unsigned __int128)ycsb_random(ycsb) * bound >> 64);
}
static inline double ycsb_uniform(struct ycsb* ycsb) {
  return (double)(ycsb_random(ycsb) >> 11) * 0x1p-53;
}
static inline uint64_t ycsb_hash(uint64_t key) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int i = 0; i < 8; ++i, key >>= 8) hash = (hash ^ (key & 0xff)) * 0x100000001b3u;
  return hash;
}

static inline void ycsb_begin(struct ycsb* ycsb, char workload, uint64_t keys, uint64_t seed) {
  ycsb->workload = workload;
  ycsb->keys = ycsb->zipf_keys = keys;
  ycsb->state = seed;
  ycsb->zeta = 0;
  for (uint64_t i = 1; i <= keys; ++i) ycsb->zeta += pow((double)i, -YCSB_THETA);
  const double zeta2 = 1 + pow(2, -YCSB_THETA);
  ycsb->alpha = 1 / (1 - YCSB_THETA);
  ycsb->eta = (1 - pow(2 / (double)keys, 1 - YCSB_THETA)) / (1 - zeta2 / ycsb->zeta);
}

/* A rank, 0 the most frequent (Gray et al., SIGMOD 1994). */
static inline uint64_t ycsb_rank(struct ycsb* ycsb) {
  const double u = ycsb_uniform(ycsb), uz = u * ycsb->zeta;
  if (uz < 1) return 0;
  if (uz < 1 + pow(0.5, YCSB_THETA)) return 1;
  const double n = (double)ycsb->zipf_keys;
  const uint64_t rank = (uint64_t)(n * pow(ycsb->eta * u - ycsb->eta + 1, ycsb->alpha));
  return rank < ycsb->zipf_keys ? rank : ycsb->zipf_keys - 1;
}

static inline uint64_t ycsb_key(struct ycsb* ycsb) {
  const uint64_t rank = ycsb_rank(ycsb);
  if (ycsb->workload == 'D') return ycsb->keys - 1 - rank % ycsb->keys;
  return ycsb_hash(rank) % ycsb->zipf_keys;
}

static inline enum ycsb_operation ycsb_next(struct ycsb* ycsb) {
  const uint64_t percent = ycsb_below(ycsb, 100);
  switch (ycsb->workload) {
    case 'A':
      return percent < 50 ? YCSB_READ : YCSB_UPDATE;
    case 'B':
      return percent < 95 ? YCSB_READ : YCSB_UPDATE;
    case 'C':
      return YCSB_READ;
    case 'D':
      return percent < 95 ? YCSB_READ : YCSB_INSERT;
    case 'E':
      return percent < 95 ? YCSB_SCAN : YCSB_INSERT;
    default:
      return percent < 50 ? YCSB_READ : YCSB_MODIFY;
  }
}
