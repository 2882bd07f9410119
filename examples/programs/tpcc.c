/*
 * TPC-C's new-order and payment on tables in persistent memory, under undo-log transactions.
 *
 *   gcc -O2 -I"$(nearfar run --include)" -o tpcc tpcc.c -lpmem
 *   mkdir -p pmem
 *   nearfar run model:optane-100 --pmem pmem --roi -- ./tpcc pmem/tpcc 2 5000
 *
 * Arguments: the pool's file, which goes when the program ends; warehouses; transactions; and, if others than 300
 * and 10000 are wanted, customers of a district and items (the specification has 3000 and 100000);
 * then a seed. Items and customers are drawn by the specification's NURand, 60 % of the paying
 * customers by last name, one in a hundred order lines is supplied by another warehouse, 15 % of
 * payments are a customer's of another one, and one in a hundred new orders names an item that does
 * not exist and is rolled back. Of the two kinds new-order is 45 in 88, as in the whole mix.
 *
 * The transactions are the region of interest. Pointers by which customers are found are marked for
 * Pre-translation; four warehouses with 3000 customers a district take 70 MiB, beyond a processor's
 * caches and TLBs. At the end the specification's consistency conditions 1 to 3 and 12 are checked.
 * What to look at: each payment adds to its warehouse's and its district's
 * row, so few lines take many writes, beside the log's.
 */
#include <nearfar.h>
#include <nearfar/mkpt.h>

#include "transaction.h"

enum {
  DISTRICTS = 10,
  NAMES = 1000,
  MOST_LINES = 15,
  LOAD_C = 123, /* of NURand, each in the range the specification gives */
  CUSTOMER_C = 77,
  ITEM_C = 4242
};

struct warehouse {
  int64_t ytd; /* money in cents, throughout */
  int64_t tax;
  char address[80];
} __attribute__((aligned(64)));

struct district {
  int64_t ytd, tax, next_order;
  struct order* last_order; /* the newest */
  struct customer** by_name; /* the first customer of each of NAMES names */
  char address[80];
} __attribute__((aligned(64)));

struct customer {
  int64_t balance, ytd_payment, payments, discount;
  uint64_t name;
  struct customer* next_of_name;
  char data[400];
} __attribute__((aligned(64)));

struct item {
  int64_t price;
  char name[56];
} __attribute__((aligned(64)));

struct stock {
  int64_t quantity, ytd, orders, remote_orders;
  char districts[240];
  char data[48];
} __attribute__((aligned(64)));

struct order_line {
  uint64_t item, warehouse;
  int64_t quantity, amount;
  char district[24];
};

struct order {
  struct order* next; /* the one before it in its district */
  int64_t number, customer, lines;
  struct order_line line[MOST_LINES];
};

struct history {
  uint64_t warehouse, district, customer;
  int64_t amount;
};

static struct pool* pool;
static struct warehouse* warehouses;
static struct district* districts;
static struct customer* customers;
static struct item* items;
static struct stock* stocks;
static uint64_t warehouse_count, customer_count = 300, item_count = 10000, state = 1;
static uint64_t new_orders, payments, rolled_back, wrong;

static uint64_t below(uint64_t bound) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (uint64_t)((unsigned __int128)(z ^ z >> 31) * bound >> 64);
}

/* The specification's skewed number below `bound`; `a` is 255, 1023 or 8191. */
static uint64_t nurand(uint64_t a, uint64_t c, uint64_t bound) {
  return ((below(a + 1) | below(bound)) + c) % bound;
}

static struct district* district_of(uint64_t warehouse, uint64_t district) {
  return &districts[warehouse * DISTRICTS + district];
}
static struct customer* customer_of(uint64_t warehouse, uint64_t district, uint64_t customer) {
  return &customers[(warehouse * DISTRICTS + district) * customer_count + customer];
}

/* Lays a table down by plain stores: loading is no transaction. */
static void* table(size_t rows, size_t row_bytes) {
  void* const at = pool_at(pool, pool->used);
  pool->used += (rows * row_bytes + TX_LINE - 1) / TX_LINE * TX_LINE;
  if (pool->used > pool->bytes) tx_fail("the pool is full");
  return at;
}

static void load_district(uint64_t w, uint64_t d) {
  struct district* const row = district_of(w, d);
  row->tax = (int64_t)below(2001);
  row->next_order = 1;
  struct customer** const by_name = table(NAMES, sizeof *by_name);
  row->by_name = by_name;
  for (uint64_t c = customer_count; c-- > 0;) {
    struct customer* const customer = customer_of(w, d, c);
    customer->balance = -1000;
    customer->ytd_payment = 1000;
    customer->payments = 1;
    customer->discount = (int64_t)below(5001);
    customer->name = c < NAMES ? c : nurand(255, LOAD_C, NAMES);
    customer->next_of_name = by_name[customer->name];
    by_name[customer->name] = customer;
  }
}

static void load(void) {
  warehouses = table(warehouse_count, sizeof *warehouses);
  districts = table(warehouse_count * DISTRICTS, sizeof *districts);
  customers = table(warehouse_count * DISTRICTS * customer_count, sizeof *customers);
  items = table(item_count, sizeof *items);
  stocks = table(warehouse_count * item_count, sizeof *stocks);
  for (uint64_t i = 0; i < item_count; ++i) items[i].price = 100 + (int64_t)below(9901);
  for (uint64_t w = 0; w < warehouse_count; ++w) {
    warehouses[w].tax = (int64_t)below(2001);
    for (uint64_t i = 0; i < item_count; ++i) {
      stocks[w * item_count + i].quantity = 10 + (int64_t)below(91);
    }
    for (uint64_t d = 0; d < DISTRICTS; ++d) load_district(w, d);
  }
  pmem_persist(pool, pool->used);
}

static uint64_t other_warehouse(uint64_t warehouse) {
  if (warehouse_count == 1) return warehouse;
  const uint64_t other = below(warehouse_count - 1);
  return other < warehouse ? other : other + 1;
}

/* Fills one line of an order and takes what it orders out of the stock. */
static void order_line(struct tx* tx, struct order_line* line, uint64_t warehouse) {
  line->item = nurand(8191, ITEM_C, item_count);
  line->warehouse = below(100) == 0 ? other_warehouse(warehouse) : warehouse;
  line->quantity = 1 + (int64_t)below(10);
  line->amount = line->quantity * items[line->item].price;
  struct stock* const stock = &stocks[line->warehouse * item_count + line->item];
  tx_add(tx, stock, 32);
  stock->quantity -= line->quantity;
  if (stock->quantity < 10) stock->quantity += 91;
  stock->ytd += line->quantity;
  ++stock->orders;
  if (line->warehouse != warehouse) ++stock->remote_orders;
}

static void new_order(void) {
  const uint64_t w = below(warehouse_count), d = below(DISTRICTS);
  const uint64_t customer = nurand(1023, CUSTOMER_C, customer_count);
  const int64_t lines = 5 + (int64_t)below(MOST_LINES - 4);
  struct district* const district = district_of(w, d);
  wrong += customer_of(w, d, customer)->payments == 0 || warehouses[w].tax > 2000;
  struct tx tx;
  tx_begin(&tx, pool, 0);
  struct order* const order = tx_alloc(&tx, sizeof *order);
  tx_add(&tx, &district->next_order, 16);
  order->number = district->next_order++;
  order->next = district->last_order;
  district->last_order = order;
  order->customer = (int64_t)customer;
  order->lines = lines;
  for (int64_t i = 0; i < lines; ++i) order_line(&tx, &order->line[i], w);
  if (below(100) == 0) { /* its last item does not exist */
    tx_abort(&tx);
    ++rolled_back;
    return;
  }
  tx_commit(&tx);
  ++new_orders;
}

/* The one in the middle of those with a drawn last name. */
static struct customer* customer_by_name(uint64_t w, uint64_t d) {
  struct customer** const by_name = NEARFAR_LOAD_PTR(&district_of(w, d)->by_name);
  struct customer* first;
  do {
    first = NEARFAR_LOAD_PTR(&by_name[nurand(255, CUSTOMER_C, NAMES)]);
  } while (first == NULL);
  uint64_t count = 0;
  for (struct customer* c = first; c != NULL; c = NEARFAR_LOAD_PTR(&c->next_of_name)) ++count;
  struct customer* middle = first;
  for (uint64_t i = 0; i < (count - 1) / 2; ++i) middle = NEARFAR_LOAD_PTR(&middle->next_of_name);
  return middle;
}

static void payment(void) {
  const uint64_t w = below(warehouse_count), d = below(DISTRICTS);
  const int remote = below(100) < 15;
  const uint64_t cw = remote ? other_warehouse(w) : w, cd = remote ? below(DISTRICTS) : d;
  const int by_name = below(100) < 60;
  struct customer* const customer =
      by_name ? customer_by_name(cw, cd)
              : customer_of(cw, cd, nurand(1023, CUSTOMER_C, customer_count));
  const int64_t amount = 100 + (int64_t)below(499901);
  struct tx tx;
  tx_begin(&tx, pool, 0);
  tx_add(&tx, &warehouses[w].ytd, 8);
  warehouses[w].ytd += amount;
  tx_add(&tx, &district_of(w, d)->ytd, 8);
  district_of(w, d)->ytd += amount;
  tx_add(&tx, customer, 24);
  customer->balance -= amount;
  customer->ytd_payment += amount;
  ++customer->payments;
  struct history* const history = tx_alloc(&tx, sizeof *history);
  history->warehouse = w;
  history->district = d;
  history->customer = (uint64_t)(customer - customer_of(cw, cd, 0));
  history->amount = amount;
  tx_commit(&tx);
  ++payments;
}

/* Consistency conditions 1 and 2 of a warehouse, 3 and the stock's account of its orders' lines. */
static void check_warehouse(uint64_t w, int64_t* ordered) {
  int64_t ytd = 0;
  for (uint64_t d = 0; d < DISTRICTS; ++d) {
    const struct district* const district = district_of(w, d);
    ytd += district->ytd;
    int64_t expected = district->next_order;
    for (const struct order* at = district->last_order; at != NULL; at = at->next) {
      wrong += at->number != --expected || at->lines < 5 || at->lines > MOST_LINES;
      for (int64_t i = 0; i < at->lines; ++i) *ordered += at->line[i].quantity;
    }
    wrong += expected != 1;
  }
  wrong += ytd != warehouses[w].ytd;
}

static void check(void) {
  int64_t ordered = 0, taken = 0, orders = 0, paid = 0, received = 0;
  for (uint64_t w = 0; w < warehouse_count; ++w) check_warehouse(w, &ordered);
  for (uint64_t i = 0; i < warehouse_count * item_count; ++i) taken += stocks[i].ytd;
  for (uint64_t d = 0; d < warehouse_count * DISTRICTS; ++d) orders += districts[d].next_order - 1;
  for (uint64_t c = 0; c < warehouse_count * DISTRICTS * customer_count; ++c) {
    wrong += customers[c].balance + customers[c].ytd_payment != 0;
    paid += customers[c].ytd_payment - 1000;
  }
  for (uint64_t w = 0; w < warehouse_count; ++w) received += warehouses[w].ytd;
  wrong += ordered != taken || orders != (int64_t)new_orders || paid != received;
}

int main(int count, char** words) {
  if (count < 4 || count > 7) {
    return fprintf(stderr, "tpcc FILE WAREHOUSES TRANSACTIONS [CUSTOMERS [ITEMS [SEED]]]\n"), 2;
  }
  warehouse_count = strtoull(words[2], NULL, 10);
  const uint64_t transactions = strtoull(words[3], NULL, 10);
  if (count > 4) customer_count = strtoull(words[4], NULL, 10);
  if (count > 5) item_count = strtoull(words[5], NULL, 10);
  if (count > 6) state = strtoull(words[6], NULL, 10);
  if (warehouse_count == 0 || customer_count == 0 || item_count == 0) {
    return fprintf(stderr, "tpcc: one warehouse, customer and item at least\n"), 2;
  }
  const size_t per_district = customer_count * sizeof(struct customer) + NAMES * 8 + 4096;
  const size_t bytes = sizeof *pool + item_count * sizeof(struct item) +
                       warehouse_count * (DISTRICTS * per_district + 4096 +
                                          item_count * sizeof(struct stock)) +
                       transactions * (sizeof(struct order) + TX_LINE) + 4096;
  pool = pool_create(words[1], bytes);
  load();
  NEARFAR_ROI_BEGIN();
  for (uint64_t i = 0; i < transactions; ++i) {
    if (below(88) < 45) {
      new_order();
    } else {
      payment();
    }
  }
  NEARFAR_ROI_END();
  check();
  printf("%llu new orders, %llu payments, %llu rolled back, %llu wrong\n",
         (unsigned long long)new_orders, (unsigned long long)payments,
         (unsigned long long)rolled_back, (unsigned long long)wrong);
  return wrong != 0;
}
