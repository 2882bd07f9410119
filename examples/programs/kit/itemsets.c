// A program with a heap that does to memory what freqmine of PARSEC does: FP-growth (Han, Pei and
// Yin, SIGMOD 2000), with what Liu, Li, Zhang and Tang (VLDB 2007) do for locality. Transactions are
// read and divided into tiles by which of the most frequent items they have; tile by tile they grow
// a tree, which is written anew as arrays in depth-first order and given back; and the arrays are
// mined through ever smaller conditional trees.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heap_programs.h"

enum { items = 400, shortest = 16, longest = 64, hot_items = 8, tiles = 1 << hot_items };
enum { chunk_bytes = 256 << 10, bytes_a_transaction = 1152 };

/// Memory that is handed out in order and given back all at once.
struct chunk {
  struct chunk* before;
  char bytes[chunk_bytes];
};

struct arena {
  struct chunk* last;
  size_t used;  // of the last chunk
  size_t held;  // bytes in all
};

static void* take(struct arena* arena, size_t bytes) {
  if (arena->last == NULL || arena->used + bytes > chunk_bytes) {
    struct chunk* made = malloc(sizeof *made);
    made->before = arena->last;
    arena->last = made;
    arena->used = 0;
    arena->held += sizeof *made;
  }
  void* at = arena->last->bytes + arena->used;
  arena->used += bytes;
  return at;
}

static void give_back(struct arena* arena) {
  while (arena->last != NULL) {
    struct chunk* before = arena->last->before;
    free(arena->last);
    arena->last = before;
  }
  *arena = (struct arena){0};
}

struct node {
  struct node* parent;
  struct node* same_item;  // the next node of this item
  struct node* child;
  struct node* sibling;
  uint32_t item;
  uint32_t count;
};

struct tree {
  struct arena arena;
  struct node root;
  struct node* heads[items];
  uint64_t counts[items];  // of transactions
  size_t nodes[items];
};

/// Items are numbered by how frequent they are: a path from the root has rising numbers.
static struct node* child_of(struct tree* tree, struct node* parent, uint32_t item) {
  for (struct node* at = parent->child; at != NULL; at = at->sibling)
    if (at->item == item) return at;
  struct node* made = take(&tree->arena, sizeof *made);
  *made = (struct node){parent, tree->heads[item], NULL, parent->child, item, 0};
  tree->heads[item] = parent->child = made;
  ++tree->nodes[item];
  return made;
}

static void insert(struct tree* tree, const uint32_t* path, size_t length, uint32_t count) {
  struct node* at = &tree->root;
  for (size_t i = 0; i < length; ++i) {
    at = child_of(tree, at, path[i]);
    at->count += count;
    tree->counts[path[i]] += count;
  }
}

static int by_number(const void* a, const void* b) {
  const uint32_t one = *(const uint32_t*)a;
  const uint32_t other = *(const uint32_t*)b;
  return (one > other) - (one < other);
}

/// Small numbers are frequent: item 0 is in most transactions.
static uint32_t random_item(uint64_t* seed) {
  const double u = (double)(next_random(seed) >> 11) / 9007199254740992.0;
  return (uint32_t)pow((double)items, u) - 1;
}

struct transaction {
  struct transaction* next;  // of the tile
  uint32_t length;
  uint32_t items[];
};

struct store {
  struct arena arena;
  struct transaction* tiles[tiles];
};

static void read_transaction(struct store* store, uint64_t* seed) {
  uint32_t drawn[longest];
  const size_t wanted = shortest + next_random(seed) % (longest - shortest);
  for (size_t i = 0; i < wanted; ++i) drawn[i] = random_item(seed);
  qsort(drawn, wanted, sizeof *drawn, by_number);
  uint32_t kept = 1;
  for (size_t i = 1; i < wanted; ++i)
    if (drawn[i] != drawn[kept - 1]) drawn[kept++] = drawn[i];
  uint32_t tile = 0;
  for (uint32_t i = 0; i < kept && drawn[i] < hot_items; ++i) tile |= 1U << drawn[i];
  struct transaction* made =
      take(&store->arena, (sizeof *made + kept * sizeof *drawn + 7) / 8 * 8);
  made->next = store->tiles[tile];
  made->length = kept;
  memcpy(made->items, drawn, kept * sizeof *drawn);
  store->tiles[tile] = made;
}

static void build(struct tree* tree, const struct store* store) {
  for (uint32_t tile = 0; tile < tiles; ++tile)
    for (const struct transaction* at = store->tiles[tile]; at != NULL; at = at->next)
      insert(tree, at->items, at->length, 1);
}

/// The tree in arrays. Nodes are numbered depth first, so a node's parent is mostly the one before
/// it; what concerns one item lies together.
struct arrays {
  struct place {
    uint32_t item;
    uint32_t parent;
  }* places;  // 0 is the root
  struct occurrence {
    uint32_t place;
    uint32_t count;
  }* occurrences;
  size_t first[items + 1];  // of each item's occurrences
};

static void write_as_arrays(const struct tree* tree, struct arrays* arrays) {
  arrays->first[0] = 0;
  for (int item = 0; item < items; ++item)
    arrays->first[item + 1] = arrays->first[item] + tree->nodes[item];
  arrays->places = malloc((arrays->first[items] + 1) * sizeof *arrays->places);
  arrays->occurrences = malloc(arrays->first[items] * sizeof *arrays->occurrences);
  size_t next[items];
  memcpy(next, arrays->first, sizeof next);
  uint32_t path[items + 1] = {0};  // the places of the nodes above
  size_t depth = 0;
  uint32_t made = 0;
  for (const struct node* at = tree->root.child; at != NULL;) {
    arrays->places[++made] = (struct place){at->item, path[depth]};
    arrays->occurrences[next[at->item]++] = (struct occurrence){made, at->count};
    if (at->child != NULL) {
      path[++depth] = made;
      at = at->child;
      continue;
    }
    while (at != &tree->root && at->sibling == NULL) {
      at = at->parent;
      if (depth > 0) --depth;
    }
    at = at == &tree->root ? NULL : at->sibling;
  }
}

struct miner {
  uint64_t least;  // how often items must occur together
  uint64_t found;  // sets of items
  uint64_t sum;    // of how often each occurs
};

/// The items of a path, rising, without those that are too rare in `counts`.
static size_t keep_frequent(const uint32_t* falling, size_t length, const uint64_t* counts,
                            uint64_t least, uint32_t* kept) {
  size_t count = 0;
  for (size_t i = length; i-- > 0;)
    if (counts[falling[i]] >= least) kept[count++] = falling[i];
  return count;
}

static size_t path_above(const struct node* node, uint32_t* falling) {
  size_t length = 0;
  for (const struct node* at = node->parent; at->parent != NULL; at = at->parent)
    falling[length++] = at->item;
  return length;
}

static size_t path_at(const struct arrays* arrays, uint32_t place, uint32_t* falling) {
  size_t length = 0;
  for (uint32_t at = arrays->places[place].parent; at != 0; at = arrays->places[at].parent)
    falling[length++] = arrays->places[at].item;
  return length;
}

static void mine(const struct tree* tree, struct miner* miner) {
  uint32_t falling[items];
  uint32_t kept[items];
  for (uint32_t item = items; item-- > 0;) {
    if (tree->counts[item] < miner->least) continue;
    ++miner->found;
    miner->sum += tree->counts[item];
    uint64_t together[items] = {0};
    for (const struct node* at = tree->heads[item]; at != NULL; at = at->same_item)
      for (const struct node* up = at->parent; up->parent != NULL; up = up->parent)
        together[up->item] += at->count;
    struct tree* below = calloc(1, sizeof *below);
    for (const struct node* at = tree->heads[item]; at != NULL; at = at->same_item) {
      const size_t length = path_above(at, falling);
      insert(below, kept, keep_frequent(falling, length, together, miner->least, kept), at->count);
    }
    mine(below, miner);
    give_back(&below->arena);
    free(below);
  }
}

static void mine_arrays(const struct arrays* arrays, struct miner* miner) {
  uint32_t falling[items];
  uint32_t kept[items];
  for (uint32_t item = items; item-- > 0;) {
    const struct occurrence* begin = arrays->occurrences + arrays->first[item];
    const struct occurrence* end = arrays->occurrences + arrays->first[item + 1];
    uint64_t total = 0;
    uint64_t together[items] = {0};
    for (const struct occurrence* at = begin; at != end; ++at) {
      const size_t length = path_at(arrays, at->place, falling);
      for (size_t i = 0; i < length; ++i) together[falling[i]] += at->count;
      total += at->count;
    }
    if (total < miner->least) continue;
    ++miner->found;
    miner->sum += total;
    struct tree* below = calloc(1, sizeof *below);
    for (const struct occurrence* at = begin; at != end; ++at) {
      const size_t length = path_at(arrays, at->place, falling);
      insert(below, kept, keep_frequent(falling, length, together, miner->least, kept), at->count);
    }
    mine(below, miner);
    give_back(&below->arena);
    free(below);
  }
}

/// Finds `amount` times all sets of items that are together in one of 25 transactions. An operation
/// is a set.
uint64_t mine_itemsets(size_t bytes, double amount, uint64_t* operations, size_t* allocated) {
  const uint64_t transactions = bytes / bytes_a_transaction;
  uint64_t seed = 42;
  struct store* store = calloc(1, sizeof *store);
  for (uint64_t i = 0; i < transactions; ++i) read_transaction(store, &seed);
  struct tree* tree = calloc(1, sizeof *tree);
  build(tree, store);
  *allocated = store->arena.held + tree->arena.held;
  give_back(&store->arena);
  free(store);
  struct arrays arrays;
  write_as_arrays(tree, &arrays);
  give_back(&tree->arena);
  free(tree);
  struct miner miner = {transactions / 25, 0, 0};
  for (int pass = 0; pass < (int)amount; ++pass) mine_arrays(&arrays, &miner);
  free(arrays.places);
  free(arrays.occurrences);
  *operations = miner.found;
  return miner.sum;
}
