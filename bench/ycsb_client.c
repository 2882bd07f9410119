/* A client of redis as the Yahoo! Cloud Serving Benchmark has it (Cooper et al., SoCC 2010):
 * records of ten fields of 100 bytes, each a hash; workload A reads and updates in equal shares,
 * C reads; keys are Zipfian with its constant 0.99, scattered over all records.
 *
 *   ycsb_client PORT load RECORDS
 *   ycsb_client PORT a|c RECORDS THREADS SECONDS
 *
 * prints "operations N", "wall SECONDS" and "p99 MICROSECONDS". */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FIELDS = 10, FIELD = 100, ROOM = 4096, STEPS = 4096, MOST_THREADS = 64 };

static const double theta = 0.99;
static double zeta_all, zeta_two, eta;
static uint64_t records;
static int port, updates;
static double seconds;
static atomic_uint_least64_t taken[STEPS]; /* operations by time, a step a 32nd of a doubling */

static void die(const char* what) {
  fprintf(stderr, "ycsb_client: %s: %s\n", what, errno ? strerror(errno) : "not what redis says");
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t scatter(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static double draw(uint64_t* state) {
  return (double)(scatter(*state += 0x9e3779b97f4a7c15u) >> 11) / 9007199254740992.0;
}

/* Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994. */
static void make_zipfian(void) {
  zeta_two = 1 + pow(0.5, theta);
  for (uint64_t i = 1; i <= records; ++i) zeta_all += pow(1.0 / (double)i, theta);
  eta = (1 - pow(2.0 / (double)records, 1 - theta)) / (1 - zeta_two / zeta_all);
}

static uint64_t zipfian(uint64_t* state) {
  const double u = draw(state), uz = u * zeta_all;
  if (uz < 1) return 0;
  if (uz < zeta_two) return 1;
  return (uint64_t)((double)records * pow(eta * u - eta + 1, 1 / (1 - theta)));
}

static int connected(void) {
  const int to = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (to < 0 || connect(to, (struct sockaddr*)&address, sizeof address) != 0) die("connect");
  const int yes = 1;
  setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return to;
}

static void fill(char* field, uint64_t* state) {
  for (int i = 0; i < FIELD; ++i) field[i] = (char)(' ' + (int)(draw(state) * 95));
}

static int start_of(char* text, const char* verb, int words, uint64_t record) {
  char key[32];
  const int length = snprintf(key, sizeof key, "user%llu", (unsigned long long)record);
  return sprintf(text, "*%d\r\n$%zu\r\n%s\r\n$%d\r\n%s\r\n", words, strlen(verb), verb, length,
                 key);
}

static int add_field(char* text, int field, uint64_t* state) {
  int at = sprintf(text, "$6\r\nfield%d\r\n$%d\r\n", field, FIELD);
  fill(text + at, state);
  at += FIELD;
  text[at++] = '\r';
  text[at++] = '\n';
  return at;
}

static void send_all(int to, const char* text, int length) {
  for (int at = 0; at < length;) {
    const ssize_t sent = write(to, text + at, (size_t)(length - at));
    if (sent <= 0) die("write");
    at += (int)sent;
  }
}

/* Of an answer that is a number, or an array of ten fields and their values. */
static void answered(int from, int number) {
  char text[ROOM];
  const int whole = FIELDS * (6 + 6 + 7 + FIELD); /* "$6", "field0", "$100", the value, with ends */
  int length = 0;
  for (;;) {
    const ssize_t got = read(from, text + length, (size_t)(ROOM - length));
    if (got <= 0) die("read");
    length += (int)got;
    if (number ? text[0] != ':' : text[0] != '*') errno = 0, die("answer");
    if (text[length - 1] == '\n' && (number || length >= whole)) return;
  }
}

static void load(void) {
  char text[ROOM];
  uint64_t state = 1;
  const int to = connected();
  for (uint64_t record = 0; record < records; ++record) {
    int length = start_of(text, "HSET", 2 + 2 * FIELDS, record);
    for (int field = 0; field < FIELDS; ++field) length += add_field(text + length, field, &state);
    send_all(to, text, length);
    answered(to, 1);
  }
  close(to);
}

static void* work(void* number) {
  char text[ROOM];
  uint64_t state = 1000 + (uint64_t)(uintptr_t)number, done = 0;
  const int to = connected();
  const double end = now() + seconds;
  for (double before = now(); before < end; ++done) {
    const uint64_t record = scatter(zipfian(&state)) % records;
    const int update = updates && draw(&state) < 0.5;
    int length = start_of(text, update ? "HSET" : "HGETALL", update ? 4 : 2, record);
    if (update) length += add_field(text + length, (int)(draw(&state) * FIELDS), &state);
    send_all(to, text, length);
    answered(to, update);
    const double after = now();
    const double step = 32 * log2(1 + 1e6 * (after - before) * 16);
    ++taken[step < STEPS ? (int)step : STEPS - 1];
    before = after;
  }
  close(to);
  return (void*)(uintptr_t)done;
}

int main(int count, char** words) {
  if (count < 4) return 2;
  port = atoi(words[1]);
  records = strtoull(words[3], NULL, 10);
  if (strcmp(words[2], "load") == 0) {
    load();
    return 0;
  }
  if (count < 6) return 2;
  updates = words[2][0] == 'a';
  const int threads = atoi(words[4]) < MOST_THREADS ? atoi(words[4]) : MOST_THREADS;
  seconds = atof(words[5]);
  make_zipfian();
  pthread_t thread[MOST_THREADS];
  const double start = now();
  for (int i = 0; i < threads; ++i) pthread_create(&thread[i], NULL, work, (void*)(uintptr_t)i);
  uint64_t operations = 0;
  for (int i = 0; i < threads; ++i) {
    void* done;
    pthread_join(thread[i], &done);
    operations += (uint64_t)(uintptr_t)done;
  }
  const double wall = now() - start;
  uint64_t below = 0;
  int step = 0;
  while (step < STEPS && (below += taken[step]) < operations - operations / 100) ++step;
  printf("operations %llu\nwall %.3f\np99 %.1f\n", (unsigned long long)operations, wall,
         (exp2((step + 1) / 32.0) - 1) / 16);
  return 0;
}
