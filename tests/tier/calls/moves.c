/* What is moved or grows by mremap stays what it was: a file's mapping the file's, to managed
 * addresses, among them and away from them; and protected memory protected. */

#include "../hazards/hazard.h"

enum { SHORT = 8 };
static const int moves = MREMAP_MAYMOVE | MREMAP_FIXED;
static const int both = PROT_READ | PROT_WRITE;

static int made_file(void) {
  FILE* file = tmpfile();
  must(file != NULL && ftruncate(fileno(file), (off_t)HELD * PAGE) == 0, "tmpfile");
  return fileno(file);
}

/* Whether what is written to memory is in the file. */
static void must_be_file(const char* what, char* at, size_t page, int file) {
  static char letter = 'a';
  at[page * PAGE] = ++letter;
  char read = 0;
  must(pread(file, &read, 1, (off_t)(page * PAGE)) == 1 && read == letter, what);
}

static char* map_file(char* at, size_t pages, int kind, int file) {
  at = mmap(at, pages * PAGE, both, kind, file, 0);
  must(at != MAP_FAILED, "mmap of a file");
  return at;
}

static void must_be_unmapped(char* at) {
  errno = 0;
  must(mremap(at, SHORT * PAGE, HELD * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT,
       "mremap of what is not mapped");
}

static void from_elsewhere(int file) {
  char* at = far_block(HELD, 1);
  char* mapped = map_file(NULL, SHORT, MAP_SHARED, file);
  must(mremap(mapped, SHORT * PAGE, SHORT * PAGE, moves, at) == at, "mremap of a file");
  must_be_file("a file that was moved over managed memory", at, 1, file);
  must(((uint64_t*)(void*)at)[SHORT * WORDS] == word(1, SHORT * WORDS), "what lay behind it");
  errno = 0;
  must(mremap(mapped, SHORT * PAGE, SHORT * PAGE, moves, at) == MAP_FAILED && errno == EFAULT,
       "mremap of what has left");
  must(munmap(at, HELD * PAGE) == 0, "munmap");
}

static void among_managed(int file) {
  char* at = far_block(HELD, 2);
  char* to = far_block(HELD, 3);
  map_file(at, SHORT, MAP_SHARED | MAP_FIXED, file);
  must(munmap(at + SHORT * PAGE, SHORT * PAGE) == 0, "munmap");
  must(mremap(at, SHORT * PAGE, 2 * SHORT * PAGE, 0) == at, "mremap to more");
  must_be_file("a file that has grown", at, 2 * SHORT - 1, file);
  must(mremap(at, 2 * SHORT * PAGE, 3 * SHORT * PAGE, 0) == MAP_FAILED && errno == ENOMEM,
       "mremap into what is in use");
  must(mremap(at, 2 * SHORT * PAGE, SHORT * PAGE, moves, to) == to, "mremap to other addresses");
  must_be_file("a file that has moved", to, SHORT - 1, file);
  must_be_unmapped(at);
  char* grown = mremap(to, SHORT * PAGE, HELD * PAGE, MREMAP_MAYMOVE);
  must(grown != MAP_FAILED, "mremap to anywhere");
  must_be_file("a file that has moved to grow", grown, HELD - 1, file);
  must_be_unmapped(to);
  must(((uint64_t*)(void*)to)[SHORT * WORDS] == word(3, SHORT * WORDS), "what lay behind it");
  char* fresh_again = mmap(to, SHORT * PAGE, both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  check("fresh memory where it was", fresh_again, SHORT, 0);
  munmap(grown, HELD * PAGE);
}

static void own_pages(int file) {
  char* at = far_block(HELD, 4);
  map_file(at, SHORT, MAP_PRIVATE | MAP_FIXED, file);
  fill(at, SHORT, 5);
  char* outside = map_file(NULL, SHORT, MAP_SHARED, file);
  must(mremap(at, SHORT * PAGE, SHORT * PAGE, moves, outside) == outside, "mremap to outside");
  check("pages of its own", outside, SHORT, 5);
  must_be_unmapped(at);
  must(((uint64_t*)(void*)at)[SHORT * WORDS] == word(4, SHORT * WORDS), "what lay behind it");
}

static void must_allow(const char* what, char* at, int reading, int writing) {
  static int ends[2];
  if (ends[1] == 0) must(pipe(ends) == 0, "pipe");
  char byte = 'x';
  must((write(ends[1], at, 1) == 1) == reading, what);
  if (reading) must(read(ends[0], &byte, 1) == 1, "read");
  must(write(ends[1], &byte, 1) == 1 && (read(ends[0], at, 1) == 1) == writing, what);
  if (!writing) must(read(ends[0], &byte, 1) == 1, "read");
}

static void protected(int protection, int flags, int reading) {
  char* at = far_block(HELD, 6);
  char* to = fresh(HELD);
  must(munmap(at + SHORT * PAGE, SHORT * PAGE) == 0, "munmap");
  must(mprotect(at, SHORT * PAGE, protection) == 0, "mprotect");
  char* grown = mremap(at, SHORT * PAGE, SHORT * PAGE + PAGE, flags, to);
  must(grown != MAP_FAILED && (flags == 0) == (grown == at), "mremap of protected memory");
  must_allow("protected memory", grown, reading, 0);
  must_allow("what it grew by", grown + SHORT * PAGE, reading, 0);
  must(mprotect(grown, SHORT * PAGE + PAGE, both) == 0, "mprotect");
  check("what was protected", grown, SHORT, 6);
  must(munmap(at, HELD * PAGE) == 0, "munmap");
}

int main(void) {
  const int file = made_file();
  from_elsewhere(file);
  among_managed(file);
  own_pages(file);
  char* at = fresh(HELD);
  must(munmap(at, HELD * PAGE) == 0, "munmap");
  must_be_unmapped(at);
  protected(PROT_READ, 0, 1);
  protected(PROT_NONE, 0, 0);
  protected(PROT_READ, moves, 1);
  protected(PROT_NONE, moves, 0);
  puts("ok");
  return 0;
}
