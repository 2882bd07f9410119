/* Memory that is being filled from one end, so that what comes next may be granted without being
 * watched, and then one thing done to it: windows CASE. */

#include "hazard.h"

enum { FILLED = 6144 + 300, WHOLE = 10240, MUCH = 24576 };

static char* at; /* FILLED pages hold seed 1, the rest up to WHOLE was never touched */

/* Uses more other memory than may be near. */
static void press_much(void) {
  char* other = fresh(MUCH);
  fill(other, MUCH, 99);
  check("what was pressed with", other, MUCH, 99);
  must(munmap(other, (size_t)MUCH * PAGE) == 0, "munmap");
}

static void begin(void) {
  at = fresh(WHOLE);
  fill(at, FILLED, 1);
}

static void check_all(const char* what) {
  check(what, at, FILLED, 1);
  check("what was never touched", at + (size_t)FILLED * PAGE, WHOLE - FILLED, 0);
}

static void pressed(void) {
  press_much();
  check_all("filled memory");
  press_much();
  check_all("filled memory, later");
}

static void given_back(int advice) {
  const size_t from = FILLED - 700; /* what was filled last, and what was not yet */
  must(madvise(at + from * PAGE, (size_t)1400 * PAGE, advice) == 0, "madvise");
  check("memory given back", at + from * PAGE, WHOLE - from, 0);
  check("memory before it", at, from, 1);
  fill(at + from * PAGE, FILLED - from, 2);
  press_much();
  check("memory before it, later", at, from, 1);
  check("memory used again", at + from * PAGE, FILLED - from, 2);
}

static void given_back_by_own_instruction(void) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long)SYS_madvise), "D"(at), "S"((long)FILLED * PAGE),
                     "d"((long)MADV_DONTNEED)
                   : "rcx", "r11", "memory");
  must(result == 0, "madvise");
  press_much();
  fill(at, FILLED, 3);
  press_much();
  check("memory given back and used again", at, FILLED, 3);
}

static void unmapped(void) {
  must(munmap(at + (size_t)1000 * PAGE, (size_t)(WHOLE - 1000) * PAGE) == 0, "munmap");
  check("what was left", at, 1000, 1);
  char* again = fresh(WHOLE);
  check("memory mapped anew", again, WHOLE, 0);
  fill(again, FILLED, 2);
  press_much();
  check("what was left, later", at, 1000, 1);
  check("memory mapped anew, later", again, FILLED, 2);
}

static void unmapped_by_own_instruction(void) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long)SYS_munmap), "D"(at + (size_t)(FILLED - 200) * PAGE),
                     "S"((long)PAGE * 400)
                   : "rcx", "r11", "memory");
  must(result == 0, "munmap");
  press_much();
  check("what was left", at, FILLED - 200, 1);
}

static void moved(void) {
  char* const wall = at;
  at = mremap(wall, (size_t)WHOLE * PAGE, (size_t)(WHOLE + 512) * PAGE, MREMAP_MAYMOVE);
  must(at != MAP_FAILED, "mremap");
  check_all("memory that has moved");
  fill(at, FILLED, 1);
  at = mremap(at, (size_t)(WHOLE + 512) * PAGE, (size_t)WHOLE * PAGE, 0);
  pressed();
}

static void protected(void) {
  const size_t length = (size_t)WHOLE * PAGE;
  must(mprotect(at, length, PROT_READ) == 0, "mprotect");
  press_much();
  check_all("read-only memory");
  must(mprotect(at, length, PROT_NONE) == 0, "mprotect");
  press_much();
  must(mprotect(at, length, PROT_READ | PROT_WRITE) == 0, "mprotect");
  pressed();
}

static void locked(void) {
  char* const last = at + (size_t)(FILLED - 8) * PAGE;
  must(mlock(last, (size_t)64 * PAGE) == 0, "mlock");
  press_much();
  check_all("locked memory");
  must(munlock(last, (size_t)64 * PAGE) == 0, "munlock");
  pressed();
}

static void forked(void) {
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      check_all("memory of the child");
      fill(at, WHOLE, 5);
      press_much();
      check("what the child wrote", at, WHOLE, 5);
      _exit(0);
    }
    check_all("memory of the parent");
    must(status_of(child) == 0, "the child");
    char* more = fresh(WHOLE);
    fill(more, FILLED, 6);
    must(munmap(more, (size_t)WHOLE * PAGE) == 0, "munmap");
  }
  pressed();
}

static void* fill_a_quarter(void* quarter) {
  const size_t pages = WHOLE / 4;
  fill((char*)quarter, pages, 1 + ((size_t)((char*)quarter - at) / PAGE) / pages);
  return NULL;
}

/* Side by side, under pressure from each other: what is granted is taken back while it is used. */
static void filled_by_threads(void) {
  for (int round = 0; round < 3; ++round) {
    at = fresh(WHOLE);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; ++i)
      must(pthread_create(&threads[i], NULL, fill_a_quarter, at + i * (WHOLE / 4) * PAGE) == 0,
           "pthread_create");
    press_much();
    for (size_t i = 0; i < 4; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
    for (size_t i = 0; i < 4; ++i)
      check("a thread's memory", at + i * (WHOLE / 4) * PAGE, WHOLE / 4, 1 + i);
  }
}

static void read_by_the_kernel(void) {
  const int zeros = open("/dev/zero", O_RDONLY);
  const ssize_t length = (ssize_t)(WHOLE - FILLED) * PAGE;
  must(read(zeros, at + (size_t)FILLED * PAGE, (size_t)length) == length, "read");
  pressed();
}

static void counted(void) {
  for (int i = 0; i < 6; ++i) {
    char* other = fresh(WHOLE);
    fill(other, WHOLE, 7);
    must_be_at_most(in_smaps("Anonymous: %zu kB") / 1024, 64);
  }
}

/* One page in each 2 MiB: nothing else is to be charged for it. */
static void sparse(void) {
  char* other = fresh((size_t)512 * 40);
  for (size_t i = 0; i < 40; ++i) fill(other + i * 512 * PAGE, 1, 8);
  for (size_t i = 0; i < 40; ++i) check("a page among many", other + i * 512 * PAGE, 1, 8);
}

/* Memory that was filled 64 pages at a time. */
static void check_blocks(const char* what, const char* from, size_t pages) {
  for (size_t i = 0; i + 64 <= pages; i += 64) check(what, from + i * PAGE, 64, 10);
}

/* Groups that have just left, or are about to, are used, given back and shared in part. */
static void used_in_part(void) {
  for (int round = 0; round < 6; ++round) {
    char* other = fresh(MUCH);
    for (size_t i = 0; i < MUCH; i += 64) {
      fill(other + i * PAGE, 64, 10);
      if (i < 20000) continue;
      const size_t behind = i - (size_t)round * 1500 - 12000;
      check("a page that left lately", other + (behind / 64 * 64) * PAGE, 1, 10);
      fill(other + (behind / 64 * 64) * PAGE, 1, 10);
    }
    const size_t part = 15000 + (size_t)round * 700;
    must(madvise(other + part * PAGE, (size_t)333 * PAGE, MADV_DONTNEED) == 0, "madvise");
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      check_blocks("the child's memory", other, 5000);
      check("the child's memory given back", other + part * PAGE, 333, 0);
      _exit(0);
    }
    must(mprotect(other + (size_t)5000 * PAGE, (size_t)77 * PAGE, PROT_READ) == 0, "mprotect");
    fill(other + (size_t)6000 * PAGE, 2000, 10);
    must(status_of(child) == 0, "the child");
    check_blocks("memory before what was given back", other, 5952);
    check("memory that was written since", other + (size_t)6000 * PAGE, 2000, 10);
    check("memory given back", other + part * PAGE, 333, 0);
    check("memory behind it", other + (part + 1000) / 64 * 64 * PAGE, 1, 10);
    must(munmap(other, (size_t)MUCH * PAGE) == 0, "munmap");
  }
  check_all("what was filled first");
}

static size_t mappings(void) {
  FILE* file = fopen("/proc/self/maps", "r");
  must(file != NULL, "maps");
  size_t lines = 0;
  for (int c = getc(file); c != EOF; c = getc(file)) lines += c == '\n';
  fclose(file);
  return lines;
}

/* Windows come and go without leaving pieces of mappings behind. */
static void in_few_mappings(void) {
  const size_t before = mappings();
  char* other = fresh(MUCH * 4);
  for (size_t i = 0; i < MUCH * 4; ++i) other[i * PAGE] = 1;
  const size_t after = mappings();
  if (after > before + 40) {
    printf("%zu mappings, %zu before\n", after, before);
    _exit(1);
  }
}

int main(int count, char** words) {
  must(count == 2, "windows CASE");
  const char* const what = words[1];
  if (strcmp(what, "sparse") != 0) begin();
  if (strcmp(what, "pressed") == 0) pressed();
  if (strcmp(what, "given-back") == 0) given_back(MADV_DONTNEED);
  if (strcmp(what, "freed") == 0) given_back(MADV_FREE);
  if (strcmp(what, "own-madvise") == 0) given_back_by_own_instruction();
  if (strcmp(what, "unmapped") == 0) unmapped();
  if (strcmp(what, "own-munmap") == 0) unmapped_by_own_instruction();
  if (strcmp(what, "moved") == 0) moved();
  if (strcmp(what, "protected") == 0) protected();
  if (strcmp(what, "locked") == 0) locked();
  if (strcmp(what, "forked") == 0) forked();
  if (strcmp(what, "threads") == 0) filled_by_threads();
  if (strcmp(what, "kernel") == 0) read_by_the_kernel();
  if (strcmp(what, "counted") == 0) counted();
  if (strcmp(what, "sparse") == 0) sparse();
  if (strcmp(what, "part") == 0) used_in_part();
  if (strcmp(what, "mappings") == 0) in_few_mappings();
  puts("ok");
  return 0;
}
