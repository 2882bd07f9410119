/* Memory is touched from its end to its beginning: goes_down CASE. */

#include "hazard.h"

#define ALL 4096 /* pages, of which a quarter is near */

static char* at;
static size_t every_nth; /* page is not there; 0: all are */

static int is_there(size_t page) { return every_nth == 0 || page % every_nth != 0; }

static void fill_down(uint64_t seed) {
  for (size_t page = ALL; page-- > 0;)
    if (is_there(page)) fill(at + page * PAGE, 1, seed + page);
}

static void check_down(uint64_t seed) {
  for (size_t page = ALL; page-- > 0;)
    if (is_there(page)) check("going down", at + page * PAGE, 1, seed + page);
}

static void filled_and_read(void) {
  at = fresh(ALL);
  for (uint64_t seed = 1; seed < 4; ++seed) {
    fill_down(seed);
    for (int i = 0; i < 3; ++i) check_down(seed);
  }
}

/* What is brought in at once ends where there is nothing. */
static void with_holes(void) {
  at = fresh(ALL);
  for (every_nth = 3; every_nth < 50; every_nth += 23) {
    must(mmap(at, ALL * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
              0) == at,
         "mmap");
    for (size_t page = 0; page < ALL; page += every_nth)
      must(munmap(at + page * PAGE, PAGE) == 0, "munmap");
    fill_down(every_nth);
    for (int i = 0; i < 2; ++i) check_down(every_nth);
  }
}

/* Of what is far, parts are given back while others come. */
static void given_back(void) {
  at = fresh(ALL);
  fill_down(1);
  for (size_t page = ALL; page-- > 0;) {
    check("before", at + page * PAGE, 1, 1 + page);
    if (page % 5 != 0 || page < 8) continue;
    must(madvise(at + (page - 3) * PAGE, PAGE, MADV_DONTNEED) == 0, "madvise");
    must(at[(page - 3) * PAGE] == 0, "there is something left");
    fill(at + (page - 3) * PAGE, 1, 1 + page - 3);
  }
  check_down(1);
}

static void* read_up(void* nothing) {
  for (int i = 0; i < 4; ++i)
    for (size_t page = 0; page < ALL; ++page) check("going up", at + page * PAGE, 1, 1 + page);
  return nothing;
}

static void meets_another(void) {
  pthread_t other;
  at = fresh(ALL);
  fill_down(1);
  must(pthread_create(&other, NULL, read_up, NULL) == 0, "thread");
  for (int i = 0; i < 4; ++i) check_down(1);
  must(pthread_join(other, NULL) == 0, "join");
}

/* As memcpy does between blocks that begin alike in their pages, if the processor is one for which
 * glibc does so: each time into fresh memory. */
static void copied(void) {
  char* from = fresh(ALL);
  for (size_t page = 0; page < ALL; ++page) fill(from + page * PAGE, 1, 1 + page);
  for (int i = 0; i < 3; ++i) {
    at = fresh(ALL);
    memcpy(at, from, ALL * PAGE);
    must(munmap(from, ALL * PAGE) == 0, "munmap");
    from = at;
  }
  check_down(1);
}

int main(int words, char** word) {
  must(words == 2, "which case");
  const char* const wanted = word[1];
  if (strcmp(wanted, "all") == 0) filled_and_read();
  if (strcmp(wanted, "holes") == 0) with_holes();
  if (strcmp(wanted, "given-back") == 0) given_back();
  if (strcmp(wanted, "two") == 0) meets_another();
  if (strcmp(wanted, "copied") == 0) copied();
  must(at != NULL, "such a case");
  puts("ok");
  return 0;
}
