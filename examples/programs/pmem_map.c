/*
 * A persistent hash map on PMDK's libpmemobj, whose values are updated in place.
 *
 *   gcc -O2 -I"$(nearfar run --include)" -o pmem_map pmem_map.c -lpmemobj
 *   mkdir -p pmem; export PMEM_IS_PMEM_FORCE=1
 *   nearfar run model:optane-100 --pmem pmem --roi -- ./pmem_map pmem/map 2000 20000 skewed
 *
 * Arguments: the pool's file, which goes when the program ends, keys, updates, and how the keys to update are
 * drawn: `even`, or `skewed` (half of the updates go to a hundredth of the keys); and, if others than 24
 * and 1 are wanted, bytes of an entry and a seed: entries of 1000 bytes take a page each four, so that
 * 40,000 exceed a processor's caches and TLBs. On a machine without persistent memory PMEM_IS_PMEM_FORCE makes libpmem flush with clwb as it would there;
 * without it, it calls msync.
 *
 * The updates are the region of interest. What to look at: a flush and a fence for each; with
 * `skewed`, how few blocks of the media take most of the writes: what is updated and persisted
 * again and again is written each time, and wears.
 */
#include <libpmemobj.h>
#include <nearfar.h>
#include <nearfar/mkpt.h>
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
  struct entry* next; /* a pointer, not an offset, so that it can be marked for Pre-translation: */
  uint64_t key;       /* a pool that is opened again has to lie where it lay (PMEM_MMAP_HINT) */
  uint64_t value;
  uint64_t rest[]; /* as many words as `ENTRY` leaves, each the value */
};
struct root {
  struct entry* bucket[BUCKETS];
};

static uint64_t state = 1, entry_bytes = sizeof(struct entry), rest_words;
static uint64_t random_below(uint64_t bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 32) % bound;
}

static uint64_t bucket_of(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 54; }

static void insert(PMEMobjpool* pool, TOID(struct root) root, uint64_t key) {
  struct entry** const bucket = &D_RW(root)->bucket[bucket_of(key)];
  TX_BEGIN(pool) {
    struct entry* const made = D_RW(TX_ALLOC(struct entry, entry_bytes));
    made->key = key;
    made->value = 0;
    for (uint64_t i = 0; i < rest_words; ++i) made->rest[i] = 0;
    made->next = *bucket;
    pmemobj_tx_add_range_direct(bucket, sizeof(struct entry*));
    *bucket = made;
  }
  TX_END
}

/* The value is one aligned word, persistent before the next one: no transaction is needed. Its copies in
 * the rest, if there are any, may be torn. */
static void update(PMEMobjpool* pool, TOID(struct root) root, uint64_t key, uint64_t value) {
  struct entry* at = NEARFAR_LOAD_PTR(&D_RO(root)->bucket[bucket_of(key)]);
  while (at != NULL) { /* the pointer first: a mark does nothing once its line is in a cache */
    struct entry* const next = NEARFAR_LOAD_PTR(&at->next);
    if (at->key == key) break;
    at = next;
  }
  if (at == NULL) return;
  at->value = value;
  for (uint64_t i = 0; i < rest_words; ++i) at->rest[i] = value;
  pmemobj_persist(pool, &at->value, (1 + rest_words) * sizeof at->value);
}

int main(int count, char** words) {
  if (count < 5 || count > 7) {
    return fprintf(stderr, "pmem_map FILE KEYS UPDATES even|skewed [ENTRY [SEED]]\n"), 2;
  }
  if (count > 5) entry_bytes = strtoull(words[5], NULL, 10);
  if (entry_bytes < sizeof(struct entry) || entry_bytes > 1 << 20) {
    return fprintf(stderr, "pmem_map: an entry has 24 bytes to a MiB\n"), 2;
  }
  rest_words = (entry_bytes - sizeof(struct entry)) / sizeof(uint64_t);
  if (count > 6) state = strtoull(words[6], NULL, 10);
  const uint64_t keys = strtoull(words[2], NULL, 10), updates = strtoull(words[3], NULL, 10);
  const int skewed = strcmp(words[4], "skewed") == 0;
  unlink(words[1]);
  PMEMobjpool* const pool =
      pmemobj_create(words[1], POBJ_LAYOUT_NAME(map), PMEMOBJ_MIN_POOL + keys * (entry_bytes + 512), 0600);
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
    for (const struct entry* at = D_RO(root)->bucket[bucket]; at != NULL; at = at->next) {
      digest = (digest ^ (at->key + at->value)) * 0x100000001b3;
    }
  }
  printf("digest %016llx\n", (unsigned long long)digest);
  pmemobj_close(pool);
  return 0;
}
