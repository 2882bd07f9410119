/* Many handlers of fork run in their order, and children find far memory with them; those that are
 * registered meanwhile wait for the next fork, and those of a library that is unloaded are gone.
 * Called with the library of forks_library.c. */

#include "../hazards/hazard.h"

#include <dlfcn.h>

enum { MANY = 60, CHILDREN = 32, STEP = 32, MOST = 512 };

static char ran[MOST];
static size_t count;

static void note(char what) {
  if (count < MOST - 1) ran[count++] = what;
}

#define HANDLERS(name)                                 \
  static void prepare_##name(void) { note(#name[0]); } \
  static void parent_##name(void) { note(#name[0]); }  \
  static void child_##name(void) { note(#name[0]); }
HANDLERS(a)
HANDLERS(b)
HANDLERS(c)

static void late(void) { note('l'); }
static void register_late(void) {
  note('r');
  must(pthread_atfork(late, late, late) == 0, "pthread_atfork in a handler");
}

static void must_have_run(const char* what, const char* expected) {
  ran[count] = '\0';
  count = 0;
  if (strcmp(ran, expected) == 0) return;
  printf("%s: %s, not %s\n", what, ran, expected);
  fflush(stdout);
  _exit(1);
}

static void must_fork(const char* in_parent, const char* in_child) {
  count = 0;
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    must_have_run("in the child", in_child);
    _exit(0);
  }
  must_have_run("in the parent", in_parent);
  must(status_of(child) == 0, "a child's handlers");
}

/* Before each fork more of other memory is used, so that what the last one has used is among what
 * leaves for the next. */
static void must_find_memory(const char* at) {
  char* other = fresh(PRESSED);
  fill(other, PRESSED, 2);
  for (size_t i = 0; i < CHILDREN; ++i) {
    for (size_t page = 0; page < i * STEP; ++page) (void)((volatile char*)other)[page * PAGE];
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) _exit(holds(at, HELD, 1) ? 0 : 1);
    must(status_of(child) == 0, "a child's memory");
  }
  must(munmap(other, PRESSED * PAGE) == 0, "munmap");
}

int main(int words, char** word_list) {
  must(words == 2, "the name of a library");
  must(pthread_atfork(prepare_a, parent_a, child_a) == 0, "pthread_atfork");
  must(pthread_atfork(prepare_b, NULL, child_b) == 0, "pthread_atfork");
  must(pthread_atfork(NULL, parent_c, NULL) == 0, "pthread_atfork");
  must_fork("baac", "baab");

  void* library = dlopen(word_list[1], RTLD_NOW);
  must(library != NULL, "dlopen");
  void (**told)(char) = dlsym(library, "told");
  must(told != NULL, "dlsym");
  *told = note;
  must_fork("xbaacx", "xbaabx");
  must(dlclose(library) == 0 && dlopen(word_list[1], RTLD_NOW | RTLD_NOLOAD) == NULL, "dlclose");
  must_fork("baac", "baab");

  must(pthread_atfork(register_late, NULL, NULL) == 0, "pthread_atfork");
  must_fork("rbaac", "rbaab");
  must_fork("lrbaacl", "lrbaabl");

  char* at = far_block(HELD, 1);
  must_find_memory(at);
  for (int i = 0; i < MANY; ++i)
    must(pthread_atfork(prepare_c, parent_c, child_c) == 0, "pthread_atfork");
  must_find_memory(at);
  check("the parent's memory", at, HELD, 1);
  puts("ok");
  return 0;
}
