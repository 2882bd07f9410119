#pragma once

/*
 * Transactions on persistent memory, in the manner of PMDK's libpmemobj but small enough to read: a
 * pool in a mapped file, an undo log in each lane, objects from a growing heap. Link with -lpmem.
 *
 * tx_add() copies what is going to change into the lane's log and persists the copy first.
 * tx_commit() persists what has changed, then ends the log by writing its generation, one word at
 * the lane's beginning. So every transaction of a lane writes the lane's first lines again, as it
 * does with PMDK: these are lines that wear. pool_recover() undoes what a crash has left open.
 */
#include <errno.h>
#include <fcntl.h>
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where pools are mapped if it is free, so that pointers in them are good again the next time. */
#define POOL_PLACE ((void*)(UINT64_C(1) << 44))

enum { TX_LANES = 64, TX_LOG_BYTES = 16 << 10, TX_RANGES = 256, TX_LINE = 64 };

struct tx_lane {
  uint64_t generation; /* entries of another one are over */
  uint64_t unused[7];
  unsigned char log[TX_LOG_BYTES];
};

/* An entry of a log; the old bytes follow, in whole words. */
struct tx_entry {
  uint64_t offset;
  uint64_t bytes;
  uint64_t check; /* of generation, offset, bytes and data */
};

struct pool {
  uint64_t bytes;
  uint64_t used;
  uint64_t root; /* offset of the program's own object; 0: none */
  uint64_t unused[5];
  struct tx_lane lanes[TX_LANES];
};

struct tx {
  struct pool* pool;
  struct tx_lane* lane;
  size_t logged;
  struct {
    void* at;
    size_t bytes;
  } changed[TX_RANGES];
  int ranges;
};

static inline void* pool_at(struct pool* pool, uint64_t offset) {
  return offset == 0 ? NULL : (char*)pool + offset;
}
static inline uint64_t pool_offset(const struct pool* pool, const void* at) {
  return (uint64_t)((const char*)at - (const char*)pool);
}

static inline void tx_fail(const char* what) {
  fprintf(stderr, "transaction: %s\n", what);
  exit(1);
}

/* A pool in a new file, which goes when the program ends. */
static inline struct pool* pool_create(const char* path, size_t bytes) {
  int file;
  while ((file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600)) < 0 && errno == EEXIST) unlink(path);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0) tx_fail("cannot make the file");
  struct pool* const pool = mmap(POOL_PLACE, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  unlink(path); /* what a run leaves would be another run's input */
  if (pool == MAP_FAILED) tx_fail("cannot map the file");
  pool->bytes = bytes;
  pool->used = sizeof *pool;
  pmem_persist(pool, TX_LINE);
  return pool;
}

static inline uint64_t tx_check(uint64_t generation, const struct tx_entry* entry,
                                const uint64_t* data) {
  uint64_t check = generation * 0x9e3779b97f4a7c15u ^ entry->offset * 31 ^ entry->bytes;
  for (uint64_t i = 0; i < (entry->bytes + 7) / 8; ++i) check = (check ^ data[i]) * 0x100000001b3u;
  return check | 1; /* never that of an entry of zeros */
}

static inline void tx_end_log(struct tx_lane* lane) {
  ++lane->generation;
  pmem_persist(&lane->generation, sizeof lane->generation);
}

/* Takes back what the lane's log says has changed, the last change first. */
static inline void tx_undo(struct pool* pool, struct tx_lane* lane) {
  const struct tx_entry* entries[TX_RANGES];
  int count = 0;
  for (size_t at = 0; at + sizeof(struct tx_entry) <= TX_LOG_BYTES && count < TX_RANGES;) {
    const struct tx_entry* const entry = (const struct tx_entry*)(lane->log + at);
    if (entry->bytes == 0 || entry->bytes > TX_LOG_BYTES - at - sizeof *entry) break;
    if (entry->check != tx_check(lane->generation, entry, (const uint64_t*)(entry + 1))) break;
    entries[count++] = entry;
    at += sizeof *entry + (entry->bytes + 7) / 8 * 8;
  }
  while (count-- > 0) {
    void* const at = pool_at(pool, entries[count]->offset);
    memcpy(at, entries[count] + 1, entries[count]->bytes);
    pmem_persist(at, entries[count]->bytes);
  }
  tx_end_log(lane);
}

static inline void tx_begin(struct tx* tx, struct pool* pool, int lane) {
  tx->pool = pool;
  tx->lane = &pool->lanes[lane];
  tx->logged = 0;
  tx->ranges = 0;
}

static inline void tx_changes(struct tx* tx, void* at, size_t bytes) {
  if (tx->ranges == TX_RANGES) tx_fail("too many ranges in one transaction");
  tx->changed[tx->ranges].at = at;
  tx->changed[tx->ranges++].bytes = bytes;
}

/* The bytes are going to change: whole words, as they are now, go into the log. */
static inline void tx_add(struct tx* tx, void* at, size_t bytes) {
  struct tx_entry* const entry = (struct tx_entry*)(tx->lane->log + tx->logged);
  const size_t size = sizeof *entry + (bytes + 7) / 8 * 8;
  if (tx->logged + size > TX_LOG_BYTES) tx_fail("a transaction's log is full");
  entry->offset = pool_offset(tx->pool, at);
  entry->bytes = bytes;
  ((uint64_t*)(entry + 1))[(bytes + 7) / 8 - 1] = 0;
  memcpy(entry + 1, at, bytes);
  entry->check = tx_check(tx->lane->generation, entry, (const uint64_t*)(entry + 1));
  pmem_persist(entry, size);
  tx->logged += size;
  tx_changes(tx, at, bytes);
}

/* A new object of zeros, in lines of its own; lost with the transaction. One thread at a time. */
static inline void* tx_alloc(struct tx* tx, size_t bytes) {
  struct pool* const pool = tx->pool;
  bytes = (bytes + TX_LINE - 1) / TX_LINE * TX_LINE;
  if (pool->used + bytes > pool->bytes) tx_fail("the pool is full");
  tx_add(tx, &pool->used, sizeof pool->used);
  void* const at = pool_at(pool, pool->used);
  pool->used += bytes;
  tx_changes(tx, at, bytes); /* there is no old content to keep */
  return at;
}

static inline void tx_commit(struct tx* tx) {
  for (int i = 0; i < tx->ranges; ++i) pmem_flush(tx->changed[i].at, tx->changed[i].bytes);
  pmem_drain();
  tx_end_log(tx->lane);
}

/* As if it had not begun. */
static inline void tx_abort(struct tx* tx) { tx_undo(tx->pool, tx->lane); }
