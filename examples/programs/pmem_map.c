/*
 * A persistent hash map on PMDK's libpmemobj, whose values are updated in place.
 *
 *   gcc -O2 -I"$(nearfar run --include)" -o pmem_map pmem_map.c -lpmemobj
 *   mkdir -p pmem; export PMEM_IS_PMEM_FORCE=1
 *   nearfar run model:optane-100 --pmem pmem --roi -- ./pmem_map pmem/map 2000 20000 skewed
 *
 * Arguments: the pool's file, which goes when the program ends, keys, updates, and how the keys to update are
 * drawn: `even`, or `skewed` (half of the updates go to a hundredth of the keys); and, if another
 * than 1 is wanted, a seed. On a machine
 * without persistent memory PMEM_IS_PMEM_FORCE makes libpmem flush with clwb as it would there;
 * without it, it calls msync.
 *
 * The updates are the region of interest. What to look at: a flush and a fence for each; with
 * `skewed`, how few blocks of the media take most of the writes: what is updated and persisted
 * again and again is written each time, and wears.
 */
#include <libpmemobj.h>
#include <nearfar.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 1024 };

POBJ_LAYOUT_BEGIN(map);
POBJ_LAYOUT_ROOT(map, struct root);
POBJ_LAYOUT_TOID(map, struct entry);
POBJ_LAYOUT_END(map);

struct entry {
  TOID(struct entry) next;
  uint64_t key;
  uint64_t value;
};
struct root {
  TOID(struct entry) bucket[BUCKETS];
};

static uint64_t state = 1;
static uint64_t random_below(uint64_t bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 32) % bound;
}

static uint64_t bucket_of(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 54; }

static void insert(PMEMobjpool* pool, TOID(struct root) root, uint64_t key) {
  TOID(struct entry)* const bucket = &D_RW(root)->bucket[bucket_of(key)];
  TX_BEGIN(pool) {
    TOID(struct entry) made = TX_NEW(struct entry);
    D_RW(made)->key = key;
    D_RW(made)->value = 0;
    D_RW(made)->next = *bucket;
    pmemobj_tx_add_range_direct(bucket, sizeof *bucket);
    *bucket = made;
  }
  TX_END
}

/* One aligned word, persistent before the next one: no transaction is needed. */
static void update(PMEMobjpool* pool, TOID(struct root) root, uint64_t key, uint64_t value) {
  TOID(struct entry) at = D_RO(root)->bucket[bucket_of(key)];
  while (!TOID_IS_NULL(at) && D_RO(at)->key != key) at = D_RO(at)->next;
  if (TOID_IS_NULL(at)) return;
  D_RW(at)->value = value;
  pmemobj_persist(pool, &D_RW(at)->value, sizeof D_RW(at)->value);
}

int main(int count, char** words) {
  if (count != 5 && count != 6) {
    return fprintf(stderr, "pmem_map FILE KEYS UPDATES even|skewed [SEED]\n"), 2;
  }
  if (count == 6) state = strtoull(words[5], NULL, 10);
  const uint64_t keys = strtoull(words[2], NULL, 10), updates = strtoull(words[3], NULL, 10);
  const int skewed = strcmp(words[4], "skewed") == 0;
  unlink(words[1]);
  PMEMobjpool* const pool =
      pmemobj_create(words[1], POBJ_LAYOUT_NAME(map), PMEMOBJ_MIN_POOL + keys * 512, 0600);
  if (pool == NULL) return fprintf(stderr, "pmem_map: %s\n", pmemobj_errormsg()), 1;
  unlink(words[1]); /* what a run leaves would be another run's input */
  TOID(struct root) root = POBJ_ROOT(pool, struct root);
  for (uint64_t key = 0; key < keys; ++key) insert(pool, root, key);
  NEARFAR_ROI_BEGIN();
  for (uint64_t i = 0; i < updates; ++i) {
    const uint64_t among = skewed && random_below(2) == 0 ? (keys + 99) / 100 : keys;
    update(pool, root, random_below(among), i);
  }
  NEARFAR_ROI_END();
  uint64_t digest = 0xcbf29ce484222325;
  for (int bucket = 0; bucket < BUCKETS; ++bucket) {
    TOID(struct entry) at = D_RO(root)->bucket[bucket];
    for (; !TOID_IS_NULL(at); at = D_RO(at)->next) {
      digest = (digest ^ (D_RO(at)->key + D_RO(at)->value)) * 0x100000001b3;
    }
  }
  printf("digest %016llx\n", (unsigned long long)digest);
  pmemobj_close(pool);
  return 0;
}
