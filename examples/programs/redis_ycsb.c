#define _GNU_SOURCE
/*
 * A client that drives redis with YCSB's workloads: redis_ycsb SOCKET WORKLOAD RECORDS OPERATIONS
 * [SEED]. `redis_ycsb.sh` starts the server and this.
 *
 * A record is a hash of ten fields of 100 bytes and an entry of a sorted set, by which scans find
 * it, as in YCSB's own binding. Each answer is checked. Linked dynamically, so that under `nearfar
 * run` its time, like the server's, is simulated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ycsb_keys.h"

enum { FIELDS = 10, FIELD_BYTES = 100, LONGEST_SCAN = 100, BUFFER = 1 << 20 };

static int server;
static char received[BUFFER];
static size_t begin, end;
static uint64_t wrong;

static void fail(const char* what) {
  fprintf(stderr, "redis_ycsb: %s\n", what);
  exit(1);
}

/* One line of an answer, or so many bytes and a line's end. */
static char* take(size_t bytes) {
  for (;;) {
    char* const at = received + begin;
    if (bytes == 0) {
      char* const line = memmem(at, end - begin, "\r\n", 2);
      if (line != NULL) {
        *line = 0;
        begin = (size_t)(line + 2 - received);
        return at;
      }
    } else if (end - begin >= bytes + 2) {
      begin += bytes + 2;
      return at;
    }
    if (begin != 0) {
      memmove(received, at, end - begin);
      end -= begin;
      begin = 0;
    }
    if (end == BUFFER) fail("an answer is too long");
    const ssize_t got = read(server, received + end, BUFFER - end);
    if (got <= 0) fail("the server has gone");
    end += (size_t)got;
  }
}

static long number_after(char mark) {
  const char* const line = take(0);
  if (line[0] != mark) fail(line);
  return strtol(line + 1, NULL, 10);
}

static void send_all(const char* from, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = write(server, from, bytes);
    if (sent <= 0) fail("the server has gone");
    from += sent;
    bytes -= (size_t)sent;
  }
}

static char* put(char* to, const char* bytes, size_t count) {
  to += sprintf(to, "$%zu\r\n", count);
  memcpy(to, bytes, count);
  memcpy(to + count, "\r\n", 2);
  return to + count + 2;
}
static char* put_text(char* to, const char* text) { return put(to, text, strlen(text)); }

static void name_of(char* name, uint64_t number) {
  sprintf(name, "user%020llu", (unsigned long long)ycsb_hash(number));
}

/* A field's bytes: its record and number, how often it was written, and filler. */
static void field_of(char* field, uint64_t number, int index, unsigned times) {
  const int used = sprintf(field, "%llu/%d/%u/", (unsigned long long)number, index, times);
  memset(field + used, 'a' + index, (size_t)(FIELD_BYTES - used));
}
static void check_field(const char* field, uint64_t number, int index) {
  char* rest;
  wrong += strtoull(field, &rest, 10) != number || strtol(rest + 1, &rest, 10) != index;
  wrong += field[FIELD_BYTES - 1] != 'a' + index;
}

static void insert(uint64_t number) {
  static char command[4096];
  char name[32], field[FIELD_BYTES + 1], label[16];
  name_of(name, number);
  char* to = command + sprintf(command, "*%d\r\n", 2 + 2 * FIELDS);
  to = put_text(put_text(to, "HSET"), name);
  for (int i = 0; i < FIELDS; ++i) {
    sprintf(label, "field%d", i);
    field_of(field, number, i, 0);
    to = put(put_text(to, label), field, FIELD_BYTES);
  }
  to += sprintf(to, "*4\r\n");
  to = put_text(put_text(put_text(put_text(to, "ZADD"), "index"), "0"), name);
  send_all(command, (size_t)(to - command));
  wrong += number_after(':') != FIELDS;
  wrong += number_after(':') != 1;
}

static void update(uint64_t number, int index, unsigned times) {
  char command[512], name[32], field[FIELD_BYTES + 1], label[16];
  name_of(name, number);
  sprintf(label, "field%d", index);
  field_of(field, number, index, times);
  char* to = command + sprintf(command, "*4\r\n");
  to = put_text(put_text(put_text(to, "HSET"), name), label);
  to = put(to, field, FIELD_BYTES);
  send_all(command, (size_t)(to - command));
  wrong += number_after(':') != 0;
}

static void ask(const char* name) {
  char command[128];
  char* to = command + sprintf(command, "*2\r\n");
  to = put_text(put_text(to, "HGETALL"), name);
  send_all(command, (size_t)(to - command));
}

/* The answer to HGETALL; of which record it has to be, if that is known. */
static void check_record(const uint64_t* number) {
  wrong += number_after('*') != 2 * FIELDS;
  for (int i = 0; i < FIELDS; ++i) {
    const char* const label = take((size_t)number_after('$'));
    const int index = label[5] - '0';
    wrong += memcmp(label, "field", 5) != 0;
    const long bytes = number_after('$');
    wrong += bytes != FIELD_BYTES;
    const char* const field = take((size_t)bytes);
    check_field(field, number != NULL ? *number : strtoull(field, NULL, 10), index);
  }
}

static void scan(uint64_t number, uint64_t count) {
  char command[256], first[40], limit[24];
  static char names[LONGEST_SCAN][32];
  first[0] = '[';
  name_of(first + 1, number);
  sprintf(limit, "%llu", (unsigned long long)count);
  char* to = command + sprintf(command, "*7\r\n");
  to = put_text(put_text(put_text(put_text(to, "ZRANGEBYLEX"), "index"), first), "+");
  to = put_text(put_text(put_text(to, "LIMIT"), "0"), limit);
  send_all(command, (size_t)(to - command));
  const long found = number_after('*');
  wrong += found < 1 || found > (long)count;
  for (long i = 0; i < found; ++i) {
    const long bytes = number_after('$');
    snprintf(names[i], sizeof names[i], "%.*s", (int)bytes, take((size_t)bytes));
  }
  for (long i = 0; i < found; ++i) {
    ask(names[i]);
    check_record(NULL);
  }
}

static void operate(struct ycsb* ycsb, uint64_t operations) {
  char name[32];
  for (uint64_t i = 0; i < operations; ++i) {
    const enum ycsb_operation operation = ycsb_next(ycsb);
    if (operation == YCSB_INSERT) {
      insert(ycsb->keys++);
      continue;
    }
    const uint64_t number = ycsb_key(ycsb);
    if (operation == YCSB_SCAN) {
      scan(number, 1 + ycsb_below(ycsb, LONGEST_SCAN));
      continue;
    }
    if (operation != YCSB_UPDATE) {
      name_of(name, number);
      ask(name);
      check_record(&number);
    }
    if (operation != YCSB_READ) update(number, (int)ycsb_below(ycsb, FIELDS), (unsigned)i + 1);
  }
}

int main(int count, char** words) {
  if ((count != 5 && count != 6) || words[2][0] < 'A' || words[2][0] > 'F' || words[2][1] != 0) {
    return fprintf(stderr, "redis_ycsb SOCKET A|B|C|D|E|F RECORDS OPERATIONS [SEED]\n"), 2;
  }
  const uint64_t records = strtoull(words[3], NULL, 10), operations = strtoull(words[4], NULL, 10);
  if (records < 2) return fprintf(stderr, "redis_ycsb: two records at least\n"), 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(words[1]) >= sizeof address.sun_path) fail("the socket's path is too long");
  strcpy(address.sun_path, words[1]);
  server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (server < 0 || connect(server, (struct sockaddr*)&address, sizeof address) != 0) {
    fail("cannot reach the server");
  }
  struct ycsb ycsb;
  ycsb_begin(&ycsb, words[2][0], records, count == 6 ? strtoull(words[5], NULL, 10) : 1);
  for (uint64_t number = 0; number < records; ++number) insert(number);
  operate(&ycsb, operations);
  printf("workload %c: %llu records, %llu operations, %llu wrong\n", ycsb.workload,
         (unsigned long long)ycsb.keys, (unsigned long long)operations, (unsigned long long)wrong);
  return wrong != 0;
}
