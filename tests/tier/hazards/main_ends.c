/* The first thread ends before the others. */

#include "hazard.h"

static char* at;

static void* go_on(void* first) {
  must(pthread_join(*(pthread_t*)first, NULL) == 0, "pthread_join");
  for (int i = 0; i < 4; ++i) {
    send_far(at, HELD);
    check("far memory", at, HELD, 1);
  }
  puts("ok");
  return NULL;
}

int main(void) {
  static pthread_t self, other;
  self = pthread_self();
  at = far_block(HELD, 1);
  must(pthread_create(&other, NULL, go_on, &self) == 0, "pthread_create");
  pthread_exit(NULL);
}
