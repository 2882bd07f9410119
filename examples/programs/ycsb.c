/*
 * YCSB's workloads on a table in persistent memory: a skip list of records, under undo-log
 * transactions.
 *
 *   gcc -O2 -I"$(nearfar run --include)" -o ycsb ycsb.c -lpmem -lm
 *   mkdir -p pmem
 *   nearfar run model:optane-100 --pmem pmem --roi -- ./ycsb A pmem/table 20000 20000
 *
 * Arguments: the workload, A to F; the pool's file, which goes when the program ends; records; operations; and, if
 * another than 1 is wanted, a seed. A record has ten fields of 100 bytes, as YCSB's have; an update
 * writes one. Reads check what they find.
 *
 * The operations are the region of interest. Pointers of the skip list are marked for
 * Pre-translation; a record takes 1.2 KiB, so 40,000 exceed a processor's caches and TLBs, and of
 * 300,000 so do the lines that searches touch. What to look at: which lines take most of the
 * writes. They are not records: they are the first lines of the undo log, which each transaction
 * writes, and the pool's own words.
 */
#include <nearfar.h>
#include <nearfar/mkpt.h>

#include "transaction.h"
#include "ycsb_keys.h"

enum { FIELDS = 10, FIELD_BYTES = 100, LEVELS = 20, LONGEST_SCAN = 100 };

struct record {
  uint64_t key;
  uint64_t height;
  struct record* next[LEVELS]; /* of `height` levels; followed by marked loads */
  char fields[FIELDS][FIELD_BYTES];
};

static struct pool* pool;
static uint64_t wrong;

static void expect(int condition) { wrong += !condition; }

/* The first eight bytes of a field name its record and itself; the rest repeats a counter. */
static void set_field(struct record* record, int field, uint64_t value) {
  uint64_t words[FIELD_BYTES / 8 + 1];
  words[0] = record->key * FIELDS + (uint64_t)field;
  for (int i = 1; i <= FIELD_BYTES / 8; ++i) words[i] = value;
  memcpy(record->fields[field], words, FIELD_BYTES);
}
static uint64_t field_value(const struct record* record, int field) {
  uint64_t words[FIELD_BYTES / 8];
  memcpy(words, record->fields[field], sizeof words);
  expect(words[0] == record->key * FIELDS + (uint64_t)field);
  for (int i = 2; i < FIELD_BYTES / 8; ++i) expect(words[i] == words[1]);
  return words[1];
}

/* What stands before `key` on every level; the record of `key`, or the one behind its place. A record's
 * pointer is loaded before its key: a mark does nothing once the line is in a cache. */
static struct record* find(struct record* head, uint64_t key, struct record** before) {
  struct record* at = head;
  for (int level = LEVELS; level-- > 0;) {
    for (struct record* next = NEARFAR_LOAD_PTR(&at->next[level]); next != NULL;) {
      struct record* const behind = NEARFAR_LOAD_PTR(&next->next[level]);
      if (next->key >= key) break;
      at = next;
      next = behind;
    }
    if (before != NULL) before[level] = at;
  }
  return at->next[0];
}

/* Records are ordered by the hash of their number, so that neighbours are not made together. */
static uint64_t table_key(uint64_t number) { return ycsb_hash(number) | 1; }

static void insert(struct record* head, uint64_t number) {
  struct record* before[LEVELS];
  const uint64_t key = table_key(number);
  find(head, key, before);
  uint64_t height = 1;
  for (uint64_t bits = ycsb_hash(~number); height < LEVELS && bits % 4 == 0; bits /= 4) ++height;
  struct tx tx;
  tx_begin(&tx, pool, 0);
  struct record* const made = tx_alloc(&tx, sizeof *made);
  made->key = key;
  made->height = height;
  for (int field = 0; field < FIELDS; ++field) set_field(made, field, 0);
  for (uint64_t level = 0; level < height; ++level) {
    struct record** const link = &before[level]->next[level];
    made->next[level] = *link;
    tx_add(&tx, link, sizeof *link);
    *link = made;
  }
  tx_commit(&tx);
}

static uint64_t read_record(const struct record* record) {
  uint64_t sum = 0;
  for (int field = 0; field < FIELDS; ++field) sum += field_value(record, field);
  return sum;
}

static void update(struct record* record, int field, uint64_t value) {
  struct tx tx;
  tx_begin(&tx, pool, 0);
  tx_add(&tx, record->fields[field], FIELD_BYTES);
  set_field(record, field, value);
  tx_commit(&tx);
}

static uint64_t scan(struct record* at, uint64_t count) {
  uint64_t sum = 0;
  for (; at != NULL && count > 0; --count) {
    struct record* const next = NEARFAR_LOAD_PTR(&at->next[0]);
    sum += read_record(at);
    at = next;
  }
  return sum;
}

/* Every update adds one to a field, so the sum of all fields is the number of updates. */
static uint64_t operate(struct record* head, struct ycsb* ycsb, uint64_t operations) {
  uint64_t updates = 0, seen = 0;
  for (uint64_t i = 0; i < operations; ++i) {
    const enum ycsb_operation operation = ycsb_next(ycsb);
    if (operation == YCSB_INSERT) {
      insert(head, ycsb->keys++);
      continue;
    }
    const uint64_t key = table_key(ycsb_key(ycsb));
    struct record* const found = find(head, key, NULL);
    expect(found != NULL && found->key == key);
    const int field = (int)ycsb_below(ycsb, FIELDS);
    if (operation == YCSB_SCAN) {
      seen += scan(found, 1 + ycsb_below(ycsb, LONGEST_SCAN));
      continue;
    }
    if (operation != YCSB_UPDATE) seen += read_record(found);
    if (operation == YCSB_READ) continue;
    update(found, field, field_value(found, field) + 1);
    ++updates;
  }
  expect(seen < ~UINT64_C(0)); /* reads are not left out */
  return updates;
}

int main(int count, char** words) {
  if ((count != 5 && count != 6) || words[1][0] < 'A' || words[1][0] > 'F' || words[1][1] != 0) {
    return fprintf(stderr, "ycsb A|B|C|D|E|F FILE RECORDS OPERATIONS [SEED]\n"), 2;
  }
  const uint64_t records = strtoull(words[3], NULL, 10), operations = strtoull(words[4], NULL, 10);
  if (records < 2) return fprintf(stderr, "ycsb: two records at least\n"), 2;
  struct ycsb ycsb;
  ycsb_begin(&ycsb, words[1][0], records, count == 6 ? strtoull(words[5], NULL, 10) : 1);
  const size_t record_bytes = (sizeof(struct record) + TX_LINE - 1) / TX_LINE * TX_LINE;
  pool = pool_create(words[2], sizeof *pool + (records + operations + 2) * record_bytes);
  struct tx tx;
  tx_begin(&tx, pool, 0);
  struct record* const head = tx_alloc(&tx, sizeof *head);
  pool->root = pool_offset(pool, head);
  tx_commit(&tx);
  for (uint64_t number = 0; number < records; ++number) insert(head, number);
  NEARFAR_ROI_BEGIN();
  const uint64_t updates = operate(head, &ycsb, operations);
  NEARFAR_ROI_END();
  uint64_t found = 0, sum = 0, last = 0;
  for (const struct record* at = head->next[0]; at != NULL; at = at->next[0], ++found) {
    expect(at->key > last);
    last = at->key;
    sum += read_record(at);
  }
  expect(found == ycsb.keys && sum == updates);
  printf("workload %c: %llu records, %llu updates, %llu wrong\n", ycsb.workload,
         (unsigned long long)found, (unsigned long long)updates, (unsigned long long)wrong);
  return wrong != 0;
}
