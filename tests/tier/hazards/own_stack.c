/* A thread runs, and ends, on a stack that the program gave it, while memory is short. The kernel
 * tells the joining thread by writing to that stack when no page can come in any more. */

#include "hazard.h"

static void* use_stack(void* argument) {
  char frame[8 * PAGE];
  fill(frame, 8, (uint64_t)(uintptr_t)argument);
  press();
  check("a frame", frame, 8, (uint64_t)(uintptr_t)argument);
  return NULL;
}

static void* keep_pressing(void* ended) {
  while (!*(volatile int*)ended) press();
  return NULL;
}

int main(void) {
  static int ended;
  pthread_t other;
  must(pthread_create(&other, NULL, keep_pressing, &ended) == 0, "pthread_create");
  char* stack = fresh(HELD);
  for (uintptr_t i = 1; i <= 12; ++i) {
    pthread_attr_t attributes;
    pthread_t thread;
    must(pthread_attr_init(&attributes) == 0, "pthread_attr_init");
    must(pthread_attr_setstack(&attributes, stack, (size_t)HELD * PAGE) == 0, "setstack");
    must(pthread_create(&thread, &attributes, use_stack, (void*)i) == 0, "pthread_create");
    must(pthread_join(thread, NULL) == 0, "pthread_join");
    must(pthread_attr_destroy(&attributes) == 0, "pthread_attr_destroy");
  }
  ended = 1;
  must(pthread_join(other, NULL) == 0, "pthread_join");
  puts("ok");
  return 0;
}
