// Two programs with a heap, alike in what they do to memory to blackscholes and freqmine of
// PARSEC: one computes much on arrays that it passes over, one builds a tree of frequent items
// and follows its links.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tier_programs.h"

static double normal_below(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

/// Prices options by the formula of Black and Scholes, `amount` times over all of them.
uint64_t price_options(size_t bytes, double amount, uint64_t* operations, size_t* allocated) {
  enum { fields = 6 };
  const size_t count = bytes / (fields * sizeof(double));
  double* field[fields];
  for (int i = 0; i < fields; ++i) field[i] = malloc(count * sizeof(double));
  *allocated = count * fields * sizeof(double);
  uint64_t seed = 42;
  for (size_t i = 0; i < count; ++i) {
    field[0][i] = 50 + (double)(next_random(&seed) % 100);
    field[1][i] = 50 + (double)(next_random(&seed) % 100);
    field[2][i] = 0.01 + 0.0001 * (double)(next_random(&seed) % 100);
    field[3][i] = 0.10 + 0.005 * (double)(next_random(&seed) % 100);
    field[4][i] = 0.25 + 0.01 * (double)(next_random(&seed) % 100);
  }
  double sum = 0;
  for (int pass = 0; pass < (int)amount; ++pass) {
    for (size_t i = 0; i < count; ++i) {
      const double spread = field[3][i] * sqrt(field[4][i]);
      const double first = (log(field[0][i] / field[1][i]) +
                            (field[2][i] + 0.5 * field[3][i] * field[3][i]) * field[4][i]) /
                           spread;
      const double discounted = field[1][i] * exp(-field[2][i] * field[4][i]);
      field[5][i] = field[0][i] * normal_below(first) - discounted * normal_below(first - spread);
      sum += field[5][i];
    }
  }
  *operations = (uint64_t)amount * count;
  return (uint64_t)sum;
}

enum { items = 1000, longest = 24 };

struct node {
  struct node* parent;
  struct node* same_item;  // the next node of this item
  struct node* child;
  struct node* sibling;
  uint32_t item;
  uint32_t count;
};

static int by_number(const void* a, const void* b) {
  return *(const int*)a < *(const int*)b ? -1 : *(const int*)a > *(const int*)b;
}

/// Small numbers are frequent, as item 0 is in most transactions.
static int random_item(uint64_t* seed) {
  const double u = (double)(next_random(seed) >> 11) / 9007199254740992.0;
  return (int)(pow((double)items, u)) - 1;
}

static size_t read_transaction(uint64_t* seed, int* transaction) {
  const size_t wanted = 8 + next_random(seed) % (longest - 8);
  for (size_t i = 0; i < wanted; ++i) transaction[i] = random_item(seed);
  qsort(transaction, wanted, sizeof *transaction, by_number);
  size_t kept = 1;
  for (size_t i = 1; i < wanted; ++i)
    if (transaction[i] != transaction[kept - 1]) transaction[kept++] = transaction[i];
  return kept;
}

static struct node* child_of(struct node* parent, int item, struct node** heads,
                             size_t* allocated) {
  for (struct node* at = parent->child; at != NULL; at = at->sibling)
    if (at->item == (uint32_t)item) return at;
  struct node* made = malloc(sizeof *made);
  *made = (struct node){parent, heads[item], NULL, parent->child, (uint32_t)item, 0};
  heads[item] = parent->child = made;
  *allocated += sizeof *made;
  return made;
}

/// Builds a tree of frequent patterns of about `bytes`, and counts `amount` times, for every
/// item, what occurs together with it.
uint64_t mine_itemsets(size_t bytes, double amount, uint64_t* operations, size_t* allocated) {
  struct node root = {0};
  static struct node* heads[items];
  uint64_t seed = 42;
  int transaction[longest];
  *allocated = 0;
  while (*allocated < bytes) {
    const size_t length = read_transaction(&seed, transaction);
    struct node* at = &root;
    for (size_t i = 0; i < length; ++i) {
      at = child_of(at, transaction[i], heads, allocated);
      ++at->count;
    }
  }
  static uint64_t together[items];
  uint64_t sum = 0;
  for (int pass = 0; pass < (int)amount; ++pass) {
    for (int item = 0; item < items; ++item) {
      memset(together, 0, sizeof together);
      for (const struct node* at = heads[item]; at != NULL; at = at->same_item) {
        for (const struct node* up = at->parent; up != &root && up != NULL; up = up->parent)
          together[up->item] += at->count;
        ++*operations;
      }
      for (int other = 0; other < item; ++other) sum += together[other] > 100 ? together[other] : 0;
    }
  }
  return sum;
}
