/* SQLite in memory: point and range queries by an index, a join, and updates. */
#include <malloc.h>
#include <sqlite3.h>

#include "measured.h"

enum { CUSTOMERS = 5000, ORDERS = 60000, STATEMENTS = 4 };

static sqlite3* database;
static sqlite3_stmt* statements[STATEMENTS];

static void check(int status, int expected) {
  if (status == expected) return;
  fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(database));
  exit(1);
}

static void execute(const char* text) {
  check(sqlite3_exec(database, text, NULL, NULL, NULL), SQLITE_OK);
}

static void fill(void) {
  sqlite3_stmt* add;
  execute("BEGIN");
  check(sqlite3_prepare_v2(database, "INSERT INTO customer VALUES (?, 'customer ' || ?1, ?)", -1,
                           &add, NULL),
        SQLITE_OK);
  for (int i = 0; i < CUSTOMERS; ++i) {
    sqlite3_bind_int(add, 1, i);
    sqlite3_bind_int(add, 2, (int)random_below(50));
    check(sqlite3_step(add), SQLITE_DONE);
    sqlite3_reset(add);
  }
  sqlite3_finalize(add);
  check(sqlite3_prepare_v2(database, "INSERT INTO purchase VALUES (?, ?, ?)", -1, &add, NULL),
        SQLITE_OK);
  for (int i = 0; i < ORDERS; ++i) {
    sqlite3_bind_int(add, 1, i);
    sqlite3_bind_int(add, 2, (int)random_below(CUSTOMERS));
    sqlite3_bind_int(add, 3, (int)random_below(10000));
    check(sqlite3_step(add), SQLITE_DONE);
    sqlite3_reset(add);
  }
  sqlite3_finalize(add);
  execute("CREATE INDEX of_customer ON purchase (customer)");
  execute("COMMIT");
}

static void set_up(void) {
  static const char* const texts[STATEMENTS] = {
      "SELECT sum(amount), count(*) FROM purchase WHERE customer BETWEEN ?1 AND ?1 + 5",
      "SELECT region, amount FROM purchase JOIN customer ON customer.id = customer "
      "WHERE purchase.id BETWEEN ?1 AND ?1 + 40",
      "SELECT name, length(name) FROM customer WHERE id = ?1 AND name LIKE '%7%'",
      "UPDATE purchase SET amount = (amount * 7 + 1) % 10000 WHERE id = ?1",
  };
  /* Freed memory stays with the process, so that no step meets a page fault. */
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  check(sqlite3_open(":memory:", &database), SQLITE_OK);
  execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, region INTEGER)");
  execute("CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER, amount INTEGER)");
  fill();
  for (int i = 0; i < STATEMENTS; ++i) {
    check(sqlite3_prepare_v2(database, texts[i], -1, &statements[i], NULL), SQLITE_OK);
  }
}

static uint64_t step(uint64_t i) {
  uint64_t sum = i;
  for (int at = 0; at < STATEMENTS; ++at) {
    sqlite3_stmt* const statement = statements[at];
    sqlite3_bind_int(statement, 1, (int)random_below(at == 0 || at == 2 ? CUSTOMERS : ORDERS));
    int status = sqlite3_step(statement);
    for (; status == SQLITE_ROW; status = sqlite3_step(statement)) {
      sum = sum * 5 + (uint64_t)sqlite3_column_int64(statement, 0) +
            (uint64_t)sqlite3_column_int64(statement, 1);
    }
    check(status, SQLITE_DONE);
    sqlite3_reset(statement);
  }
  return sum;
}

MEASURED_MAIN(set_up, step)
