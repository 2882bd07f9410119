/* Libraries that are to find their symbols in themselves first, and whatever has none of its own
 * for malloc in libc: loads OUTER. OUTER, this file with -DOUTER, finds libinner.so, this file with
 * -DINNER, along its own path only. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined INNER

char* made(size_t bytes, int with) {
  char* const at = malloc(bytes);
  return at == NULL ? NULL : memset(at, with, bytes);
}

void ended(char* at) { free(at); }

#elif defined OUTER

void* opened(void) { return dlopen("libinner.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND); }

#else

enum { COUNT = 2048, BYTES = 10000 };

static void* must(void* found) {
  if (found != NULL) return found;
  puts(dlerror());
  exit(1);
}

int main(int words, char** word) {
  if (words != 2) return 2;
  void* const outer = must(dlopen(word[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND));
  void* (*const opened)(void) = (void* (*)(void))must(dlsym(outer, "opened"));
  void* const inner = must(opened());
  char* (*const made)(size_t, int) = (char* (*)(size_t, int))must(dlsym(inner, "made"));
  void (*const ended)(char*) = (void (*)(char*))must(dlsym(inner, "ended"));
  static char* of_library[COUNT];
  static char* of_program[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    of_library[i] = made(BYTES, i);
    of_program[i] = memset(malloc(BYTES), i, BYTES);
  }
  for (int i = 0; i < COUNT; ++i) {
    if (memcmp(of_library[i], of_program[i], BYTES) != 0) return 1;
    of_library[i] = realloc(of_library[i], BYTES + 1);
    free(of_library[i]);
    ended(of_program[i]);
  }
  puts("ok");
  return 0;
}

#endif
