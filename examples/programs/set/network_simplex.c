/*
 * Minimum-cost flow by the primal network simplex method, as dispatch of vehicles needs it: prices
 * arcs in turn, then walks and mends a spanning tree of pointers. No arc has an upper bound.
 */
#include "measured.h"

enum { NODES = 20000, ARCS = 8 * NODES, BLOCK = 400, PIVOTS = 100, NONE = -1 };

struct arc {
  int32_t tail, head;
  int64_t cost, flow;
};

struct node {
  int32_t parent, child, next, previous; /* in the tree: of siblings, next and previous */
  int32_t arc;                           /* that joins it to its parent */
  int32_t depth;
  int64_t potential; /* arcs of the tree have a reduced cost of 0 */
};

static struct arc* arcs;
static struct node* nodes;
static int32_t* pending;
static int32_t priced; /* the next arc to look at */

static int64_t reduced_cost(const struct arc* arc) {
  return arc->cost - nodes[arc->tail].potential + nodes[arc->head].potential;
}

static int leads_up(int32_t node) { return arcs[nodes[node].arc].tail == node; }

static void attach(int32_t node, int32_t parent) {
  struct node* const own = &nodes[node];
  own->parent = parent;
  own->previous = NONE;
  own->next = nodes[parent].child;
  if (own->next != NONE) nodes[own->next].previous = node;
  nodes[parent].child = node;
}

static void detach(int32_t node) {
  const struct node* const own = &nodes[node];
  if (own->previous != NONE) {
    nodes[own->previous].next = own->next;
  } else {
    nodes[own->parent].child = own->next;
  }
  if (own->next != NONE) nodes[own->next].previous = own->previous;
}

/* Depths and potentials of all that hang below `top`, which has its own. */
static void renew_below(int32_t top) {
  int count = 0;
  pending[count++] = top;
  while (count > 0) {
    const int32_t above = pending[--count];
    for (int32_t node = nodes[above].child; node != NONE; node = nodes[node].next) {
      const int64_t cost = arcs[nodes[node].arc].cost;
      nodes[node].depth = nodes[above].depth + 1;
      nodes[node].potential = nodes[above].potential + (leads_up(node) ? cost : -cost);
      pending[count++] = node;
    }
  }
}

/* A ring that reaches all, and arcs to anywhere; the root can take and give at a high price. */
static void set_up(void) {
  const int32_t root = NODES;
  arcs = memory_of((ARCS + NODES) * sizeof *arcs);
  nodes = memory_of((NODES + 1) * sizeof *nodes);
  pending = memory_of((NODES + 1) * sizeof *pending);
  for (int32_t i = 0; i < ARCS; ++i) {
    arcs[i].tail = i < NODES ? i : (int32_t)random_below(NODES);
    arcs[i].head = i < NODES ? (i + 1) % NODES : (int32_t)random_below(NODES);
    arcs[i].cost = 1 + random_below(1000);
  }
  nodes[root] = (struct node){.parent = NONE, .child = NONE, .next = NONE, .previous = NONE};
  for (int32_t i = 0; i < NODES; ++i) {
    const int gives = i % 2 == 0; /* as much as the next one takes */
    const int64_t amount = 1 + (int64_t)(scrambled((uint64_t)i / 2) % 50);
    arcs[ARCS + i] = (struct arc){gives ? i : root, gives ? root : i, 1000000, amount};
    nodes[i].child = NONE;
    nodes[i].arc = ARCS + i;
    attach(i, root);
  }
  renew_below(root);
}

/* The arc that gains most in the first block that has one that gains. */
static int32_t entering(void) {
  for (int32_t seen = 0; seen < ARCS; seen += BLOCK) {
    int32_t best = NONE;
    int64_t least = 0;
    for (int32_t i = 0; i < BLOCK; ++i) {
      const int64_t cost = reduced_cost(&arcs[priced]);
      if (cost < least) {
        least = cost;
        best = priced;
      }
      priced = priced + 1 == ARCS ? 0 : priced + 1;
    }
    if (best != NONE) return best;
  }
  return NONE;
}

static int32_t meeting(int32_t a, int32_t b) {
  while (a != b) {
    if (nodes[a].depth >= nodes[b].depth) {
      a = nodes[a].parent;
    } else {
      b = nodes[b].parent;
    }
  }
  return a;
}

/* On the way between `node` and `join` the arc that the new flow empties first. */
static void find_leaving(int32_t node, int32_t join, int up, int64_t* least, int32_t* leaving) {
  for (; node != join; node = nodes[node].parent) {
    if (leads_up(node) != up && arcs[nodes[node].arc].flow < *least) {
      *least = arcs[nodes[node].arc].flow;
      *leaving = node;
    }
  }
}

static void push(int32_t node, int32_t join, int up, int64_t amount) {
  for (; node != join; node = nodes[node].parent) {
    arcs[nodes[node].arc].flow += leads_up(node) == up ? amount : -amount;
  }
}

/* Hangs the part of the tree below `top`, which contains `node`, on `parent` by `arc`. */
static void rehang(int32_t node, int32_t top, int32_t parent, int32_t arc) {
  for (;;) {
    const int32_t above = nodes[node].parent;
    const int32_t before = nodes[node].arc;
    detach(node);
    attach(node, parent);
    nodes[node].arc = arc;
    if (node == top) return;
    parent = node;
    arc = before;
    node = above;
  }
}

static uint64_t pivot(int32_t enters) {
  struct arc* const arc = &arcs[enters];
  const int64_t gain = -reduced_cost(arc);
  const int32_t join = meeting(arc->tail, arc->head);
  int64_t least = INT64_MAX;
  int32_t leaving = NONE;
  /* The flow goes over the arc, up from its head, and down to its tail. */
  find_leaving(arc->head, join, 1, &least, &leaving);
  const int32_t of_head = leaving;
  find_leaving(arc->tail, join, 0, &least, &leaving);
  if (leaving == NONE) exit(1); /* costs would be negative */
  push(arc->head, join, 1, least);
  push(arc->tail, join, 0, least);
  arc->flow += least;
  const int below_head = leaving == of_head;
  const int32_t node = below_head ? arc->head : arc->tail;
  const int32_t parent = below_head ? arc->tail : arc->head;
  rehang(node, leaving, parent, enters);
  nodes[node].depth = nodes[parent].depth + 1;
  nodes[node].potential = nodes[parent].potential + (below_head ? -arc->cost : arc->cost);
  renew_below(node);
  return (uint64_t)(gain * least);
}

/* Some pivots; where nothing can be gained, other costs are another problem. */
static uint64_t step(uint64_t i) {
  uint64_t sum = i;
  for (int done = 0; done < PIVOTS; ++done) {
    const int32_t enters = entering();
    if (enters != NONE) {
      sum = sum * 3 + pivot(enters);
      continue;
    }
    for (int32_t arc = 0; arc < ARCS; ++arc) arcs[arc].cost = 1 + random_below(1000);
    renew_below(NODES);
  }
  return sum;
}

MEASURED_MAIN(set_up, step)
