/* Memory that was filled in order and is read in order again and again, so that 2 MiB of it leave
 * and come back as one, and one thing done to the 2 MiB that are to come next: groups CASE MIB,
 * that many of near memory. */

#include "hazard.h"

enum { GROUP = 512, PAGES = 64 * GROUP, HALF = GROUP / 2 };

static char* at; /* on a border of 2 MiB */
static unsigned char seeds[PAGES];

static void write_page(size_t page, unsigned char seed) {
  uint64_t* const words = (uint64_t*)(void*)(at + page * PAGE);
  for (size_t i = 0; i < WORDS; ++i) words[i] = word(seed, page * WORDS + i);
  seeds[page] = seed;
}

static void check_page(const char* what, size_t page) {
  const uint64_t* const words = (const uint64_t*)(const void*)(at + page * PAGE);
  for (size_t i = 0; i < WORDS; ++i) {
    const uint64_t right = word(seeds[page], page * WORDS + i);
    if (words[i] == right) continue;
    printf("%s: page %zu, word %zu is %llx, not %llx\n", what, page, i,
           (unsigned long long)words[i], (unsigned long long)right);
    fflush(stdout);
    _exit(1);
  }
}

static void begin(void) {
  char* const all = fresh(PAGES + GROUP);
  at = (char*)(((uintptr_t)all + GROUP * PAGE - 1) / (GROUP * PAGE) * (GROUP * PAGE));
  for (size_t page = 0; page < PAGES; ++page) write_page(page, 1);
}

static void scan(const char* what) {
  for (size_t page = 0; page < PAGES; ++page) check_page(what, page);
}

/* Reads in order, and does something to each fourth group just before it is reached: by turns to
 * those that leave in one way and another. */
static void scan_doing(void (*act)(size_t first)) {
  for (size_t round = 0; round < 4; ++round)
    for (size_t page = 0; page < PAGES; ++page) {
      if (page / GROUP % 4 == round && page % GROUP == 0 && page != 0) act(page);
      check_page("memory that is read in order", page);
    }
  scan("memory, later");
}

static void now_zeros(size_t first, size_t pages) { memset(seeds + first, 0, pages); }

static void give_half_back(size_t first) {
  must(madvise(at + (first + HALF) * PAGE, (size_t)HALF * PAGE, MADV_DONTNEED) == 0, "madvise");
  now_zeros(first + HALF, HALF);
}

static void give_half_back_by_own_instruction(size_t first) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long)SYS_madvise), "D"(at + first * PAGE), "S"((long)HALF * PAGE),
                     "d"((long)MADV_DONTNEED)
                   : "rcx", "r11", "memory");
  must(result == 0, "madvise");
  now_zeros(first, HALF);
}

static void map_half_anew(size_t first) {
  char* const half = at + (first + HALF) * PAGE;
  must(munmap(half, (size_t)HALF * PAGE) == 0, "munmap");
  must(mmap(half, (size_t)HALF * PAGE, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == half,
       "mmap");
  now_zeros(first + HALF, HALF);
}

/* Half of it goes elsewhere and, after the rest has been read, comes back. */
static void move_half(size_t first) {
  char* const half = at + (first + HALF) * PAGE;
  char* const place = fresh(HALF);
  const size_t length = (size_t)HALF * PAGE;
  must(mremap(half, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place, "mremap");
  for (size_t page = first; page < first + HALF; ++page) check_page("what has not moved", page);
  must(mremap(place, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, half) == half, "mremap back");
}

static void protect_half(size_t first) {
  must(mprotect(at + (first + HALF) * PAGE, (size_t)HALF * PAGE, PROT_READ) == 0, "mprotect");
  for (size_t page = first; page < first + GROUP; ++page) check_page("memory read-only", page);
  must(mprotect(at + (first + HALF) * PAGE, (size_t)HALF * PAGE, PROT_READ | PROT_WRITE) == 0,
       "mprotect");
}

static void touch_the_middle(size_t first) { check_page("a page in the middle", first + 300); }

/* When all of it has been read ahead, a page of it is brought in, written, and leaves again. */
static void rewrite_the_middle(size_t first) {
  usleep(3000);
  write_page(first + 300, 7);
  for (size_t i = 2 * GROUP; i < PAGES; ++i) check_page("other memory", (first + i) % PAGES);
}

/* Nothing but time, in which it is read ahead. */
static void wait_before(size_t first) {
  (void)first;
  usleep(3000);
}

static void fork_before(size_t first) {
  if (first % (16 * GROUP) != 0) return;
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    for (size_t page = first; page < PAGES; ++page) {
      check_page("memory of the child", page);
      if (page % 7 == 0) write_page(page, 3);
    }
    scan("what the child wrote");
    _exit(0);
  }
  for (size_t page = first; page < first + 2 * GROUP; page += 5) write_page(page, 4);
  must(status_of(child) == 0, "the child");
}

static void written(void) {
  for (unsigned char seed = 2; seed < 5; ++seed)
    for (size_t page = 0; page < PAGES; ++page) {
      check_page("memory before it is written", page);
      write_page(page, seed);
    }
  scan("memory that was written");
}

/* The beginning of each page is written first, so that a write brings it in. */
static void written_first(void) {
  for (unsigned char seed = 2; seed < 5; ++seed)
    for (size_t page = 0; page < PAGES; ++page) write_page(page, seed);
  scan("memory that was written");
}

static void backwards(void) {
  for (int round = 0; round < 2; ++round)
    for (size_t page = PAGES; page-- > 0;) check_page("memory read backwards", page);
}

static void* scan_again(void* rounds) {
  for (intptr_t i = 0; i < (intptr_t)rounds; ++i) scan("memory that threads read");
  return NULL;
}

static void by_threads(void) {
  pthread_t threads[3];
  for (size_t i = 0; i < 3; ++i)
    must(pthread_create(&threads[i], NULL, scan_again, (void*)3) == 0, "pthread_create");
  for (size_t i = 0; i < 3; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
}

/* Eight parts side by side, so that more groups are expected at once than are kept in mind. */
static void in_eight_parts(void) {
  for (int round = 0; round < 3; ++round)
    for (size_t page = 0; page < PAGES / 8; ++page)
      for (size_t part = 0; part < 8; ++part)
        check_page("memory read in parts", part * (PAGES / 8) + page);
}

static size_t near_mib;
static size_t most_huge;

static void count(size_t first) {
  (void)first;
  const size_t found = in_smaps("Anonymous: %zu kB") / 1024;
  const size_t huge = in_smaps("AnonHugePages: %zu kB");
  if (huge > most_huge) most_huge = huge;
  must_be_at_most(found, near_mib);
}

static void counted(void) {
  scan_doing(count);
  must(most_huge > 8 * 2048, "as much as that in huge pages");
}

int main(int words, char** word) {
  must(words == 3, "groups CASE MIB");
  near_mib = strtoul(word[2], NULL, 10);
  static const struct {
    const char* name;
    void (*act)(size_t);
    void (*whole)(void);
  } cases[] = {
      {"given-back", give_half_back, NULL},
      {"own-madvise", give_half_back_by_own_instruction, NULL},
      {"mapped-anew", map_half_anew, NULL},
      {"moved", move_half, NULL},
      {"protected", protect_half, NULL},
      {"middle", touch_the_middle, NULL},
      {"rewritten", rewrite_the_middle, NULL},
      {"waited", wait_before, NULL},
      {"forked", fork_before, NULL},
      {"written", NULL, written},
      {"written-first", NULL, written_first},
      {"threads", NULL, by_threads},
      {"parts", NULL, in_eight_parts},
      {"counted", NULL, counted},
      {"backwards", NULL, backwards},
  };
  begin();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(word[1], cases[i].name) != 0) continue;
    if (cases[i].whole != backwards) scan("memory that was filled");
    if (cases[i].act != NULL) scan_doing(cases[i].act);
    if (cases[i].whole != NULL) cases[i].whole();
    puts("ok");
    return 0;
  }
  must(0, "no such case");
}
