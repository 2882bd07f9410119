/*
 * A persistent doubly linked list on PMDK's libpmemobj, with a worker thread for each list.
 *
 *   gcc -O2 -pthread -I"$(nearfar run --include)" -o pmem_list pmem_list.c -lpmemobj
 *   mkdir -p pmem; export PMEM_IS_PMEM_FORCE=1
 *   nearfar run model:optane-100 --pmem pmem -- ./pmem_list pmem/list 500 2
 *
 * Arguments: the pool's file, which goes when the program ends, elements a list, and lists; a seed, with
 * which elements are taken out at random (0: every third); bytes of an element; and how often each
 * list is walked when it is there, which reads all of it. Elements of 4000 bytes take a page each, so
 * that 16,000 exceed a processor's caches and TLBs. The pointers that are followed are marked for Pre-translation.
 *
 * What to look at: pmemobj's lists are changed without a transaction, by redo logs: flushes and
 * fences for each insertion and removal; where the cores' time goes (waiting for fences, which wait
 * for the memory to accept the lines); on --pmem, writes to far memory that never see a cache.
 */
#include <libpmemobj.h>
#include <nearfar/mkpt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_LISTS = 16 };

POBJ_LAYOUT_BEGIN(list);
POBJ_LAYOUT_ROOT(list, struct root);
POBJ_LAYOUT_TOID(list, struct element);
POBJ_LAYOUT_END(list);

POBJ_LIST_HEAD(head, struct element);
struct element {
  uint64_t value;
  POBJ_LIST_ENTRY(struct element) links;
  struct element* follow; /* the next one as a pointer, which can be marked; libpmemobj's links are
                             offsets */
  uint64_t rest[]; /* as many words as `BYTES` leaves, each the value */
};
struct root {
  struct head list[MOST_LISTS];
};

static PMEMobjpool* pool;
static TOID(struct root) root;
static uint64_t elements, seed, walks, element_bytes = sizeof(struct element), rest_words;
static uint64_t walked[MOST_LISTS];

static int fill(PMEMobjpool* in, void* element, void* value) {
  struct element* const made = element;
  made->value = *(uint64_t*)value;
  made->follow = NULL;
  for (uint64_t i = 0; i < rest_words; ++i) made->rest[i] = made->value;
  pmemobj_persist(in, made, element_bytes);
  return 0;
}

/* The sum of all words, once for each walk. */
static uint64_t walk(struct head* list) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < walks; ++i) {
    for (struct element* at = D_RW(POBJ_LIST_FIRST(list)); at != NULL;) {
      struct element* const next = NEARFAR_LOAD_PTR(&at->follow); /* the first access of its line */
      sum += at->value;
      for (uint64_t i = 0; i < rest_words; ++i) sum += at->rest[i];
      at = next;
    }
  }
  return sum;
}

/* Appends all elements, and takes every third out again: with a seed, one in three at random. */
static void* work(void* number) {
  struct head* const list = &D_RW(root)->list[(uintptr_t)number];
  for (uint64_t i = 0; i < elements; ++i) {
    uint64_t value = i * 0x9e3779b97f4a7c15u;
    struct element* const last = POBJ_LIST_EMPTY(list) ? NULL : D_RW(POBJ_LIST_LAST(list, links));
    POBJ_LIST_INSERT_NEW_TAIL(pool, list, links, element_bytes, fill, &value);
    if (last != NULL) {
      last->follow = D_RW(POBJ_LIST_LAST(list, links));
      pmemobj_persist(pool, &last->follow, sizeof last->follow);
    }
    const uint64_t turn = seed == 0 ? i + 1 : (value ^ seed * 0xbf58476d1ce4e5b9u) >> 33;
    if (turn % 3 == 0) POBJ_LIST_REMOVE_FREE(pool, list, POBJ_LIST_FIRST(list), links);
  }
  walked[(uintptr_t)number] = walk(list);
  return NULL;
}

int main(int count, char** words) {
  if (count < 4 || count > 7) {
    return fprintf(stderr, "pmem_list FILE ELEMENTS LISTS [SEED [BYTES [WALKS]]]\n"), 2;
  }
  if (count > 4) seed = strtoull(words[4], NULL, 10);
  if (count > 5) element_bytes = strtoull(words[5], NULL, 10);
  if (count > 6) walks = strtoull(words[6], NULL, 10);
  if (element_bytes < sizeof(struct element) || element_bytes > 1 << 20) {
    return fprintf(stderr, "pmem_list: an element has 48 bytes to a MiB\n"), 2;
  }
  rest_words = (element_bytes - sizeof(struct element)) / sizeof(uint64_t);
  elements = strtoull(words[2], NULL, 10);
  const uint64_t lists = strtoull(words[3], NULL, 10);
  if (lists < 1 || lists > MOST_LISTS) return fprintf(stderr, "pmem_list: 1 to 16 lists\n"), 2;
  unlink(words[1]);
  const size_t size = PMEMOBJ_MIN_POOL + lists * elements * (element_bytes + 512);
  pool = pmemobj_create(words[1], POBJ_LAYOUT_NAME(list), size, 0600);
  if (pool == NULL) return fprintf(stderr, "pmem_list: %s\n", pmemobj_errormsg()), 1;
  unlink(words[1]); /* what a run leaves would be another run's input */
  root = POBJ_ROOT(pool, struct root);
  pthread_t threads[MOST_LISTS];
  for (uintptr_t i = 0; i < lists; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (uintptr_t i = 0; i < lists; ++i) pthread_join(threads[i], NULL);
  uint64_t digest = 0xcbf29ce484222325;
  for (uintptr_t i = 0; i < lists; ++i) {
    TOID(struct element) at;
    uint64_t sum = 0;
    POBJ_LIST_FOREACH(at, &D_RO(root)->list[i], links) {
      digest = (digest ^ D_RO(at)->value) * 0x100000001b3;
      sum += D_RO(at)->value;
    }
    if (walked[i] != walks * (1 + rest_words) * sum) return fprintf(stderr, "pmem_list: a walk went astray\n"), 1;
  }
  printf("digest %016llx\n", (unsigned long long)digest);
  pmemobj_close(pool);
  return 0;
}
