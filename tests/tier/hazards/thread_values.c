/* libc's fork clears, in the child and before any other code, what ended threads had of their own:
 * in memory that is far by then. What lies beside must not be lost. */

#include "hazard.h"

enum { KEYS = 64, KEY = 40, OBJECTS = 64, BYTES = 512 };

static pthread_key_t keys[KEYS];
static unsigned char* objects[OBJECTS];
static pthread_barrier_t filled;

/* Beyond the first 32 keys libc allocates room for values: among these objects. */
static void* have_a_value(void* end) {
  for (int i = 0; i < OBJECTS; ++i) {
    if (i == OBJECTS / 2) must(pthread_setspecific(keys[KEY], end) == 0, "pthread_setspecific");
    objects[i] = malloc(BYTES);
    must(objects[i] != NULL, "malloc");
    memset(objects[i], i + 1, BYTES);
  }
  pthread_barrier_wait(&filled);
  pthread_barrier_wait(end);
  return NULL;
}

static int wrong(void) {
  int found = 0;
  for (int i = 0; i < OBJECTS; ++i)
    for (int j = 0; j < BYTES; ++j) found += objects[i][j] != i + 1;
  return found;
}

int main(void) {
  pthread_barrier_t end;
  pthread_t thread;
  for (int i = 0; i < KEYS; ++i) must(pthread_key_create(&keys[i], NULL) == 0, "a key");
  must(pthread_barrier_init(&filled, NULL, 2) == 0, "a barrier");
  must(pthread_barrier_init(&end, NULL, 2) == 0, "a barrier");
  must(pthread_create(&thread, NULL, have_a_value, &end) == 0, "pthread_create");
  pthread_barrier_wait(&filled);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 4; ++i) press();
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) _exit(wrong() != 0);
    must(status_of(child) == 0, "a child's memory");
  }
  must(wrong() == 0, "the parent's memory");
  pthread_barrier_wait(&end);
  must(pthread_join(thread, NULL) == 0, "pthread_join");
  puts("ok");
  return 0;
}
