/* A library with handlers of fork of its own, for forks.c. */

#include <pthread.h>
#include <stddef.h>

void (*told)(char);

static void tell(void) {
  if (told != NULL) told('x');
}

__attribute__((constructor)) static void begin(void) { pthread_atfork(tell, tell, tell); }
