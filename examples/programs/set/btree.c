/* Look-ups and insertions in a B-tree of 64-bit keys: short searches in nodes, each a few misses.
 */
#include "measured.h"

enum { KEYS = 30, FIRST = 400000, NODES = 60000, OPERATIONS = 1000 };

struct node {
  int32_t count; /* of keys */
  int32_t leaf;
  uint64_t keys[KEYS];
  uint32_t children[KEYS + 1];
};

static struct node* nodes;
static uint32_t used;
static uint32_t root;

static uint32_t new_node(int leaf) {
  if (used == NODES) {
    fprintf(stderr, "more steps than the tree has nodes for\n");
    exit(1);
  }
  nodes[used].leaf = leaf;
  return used++;
}

/* The first key that is not below `key`. */
static int place_in(const struct node* node, uint64_t key) {
  int low = 0;
  int high = node->count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (node->keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static int contains(uint64_t key) {
  const struct node* node = &nodes[root];
  for (;;) {
    const int at = place_in(node, key);
    if (at < node->count && node->keys[at] == key) return 1;
    if (node->leaf) return 0;
    node = &nodes[node->children[at]];
  }
}

/* Moves the upper half of a full child to a node of its own. */
static void split(struct node* parent, int at) {
  struct node* const full = &nodes[parent->children[at]];
  const uint32_t number = new_node(full->leaf);
  struct node* const upper = &nodes[number];
  const int half = KEYS / 2;
  upper->count = KEYS - half - 1;
  memcpy(upper->keys, full->keys + half + 1, sizeof *upper->keys * (size_t)upper->count);
  memcpy(upper->children, full->children + half + 1,
         sizeof *upper->children * ((size_t)upper->count + 1));
  full->count = half;
  for (int i = parent->count; i > at; --i) {
    parent->keys[i] = parent->keys[i - 1];
    parent->children[i + 1] = parent->children[i];
  }
  parent->keys[at] = full->keys[half];
  parent->children[at + 1] = number;
  ++parent->count;
}

static void insert(uint64_t key) {
  if (nodes[root].count == KEYS) {
    const uint32_t above = new_node(0);
    nodes[above].children[0] = root;
    root = above;
    split(&nodes[root], 0);
  }
  struct node* node = &nodes[root];
  while (!node->leaf) {
    int at = place_in(node, key);
    if (nodes[node->children[at]].count == KEYS) {
      split(node, at);
      if (node->keys[at] < key) ++at;
    }
    node = &nodes[node->children[at]];
  }
  const int at = place_in(node, key);
  for (int i = node->count; i > at; --i) node->keys[i] = node->keys[i - 1];
  node->keys[at] = key;
  ++node->count;
}

static uint64_t key_of(uint64_t i) { return scrambled(i + 1) >> 24; }

static void set_up(void) {
  nodes = memory_of(NODES * sizeof *nodes);
  root = new_node(1);
  for (uint64_t i = 0; i < FIRST; ++i) insert(key_of(i));
}

/* An insertion to fifteen look-ups, of which every other key is there. */
static uint64_t step(uint64_t i) {
  uint64_t found = 0;
  for (uint64_t at = i * OPERATIONS; at < (i + 1) * OPERATIONS; ++at) {
    if (at % 16 == 0) {
      insert(key_of(FIRST + at));
    } else {
      found += (uint64_t)contains(key_of(random_below(2 * FIRST)));
    }
  }
  return found;
}

MEASURED_MAIN(set_up, step)
