/* A thread ends while it holds a robust mutex, and the mutex is far: the thread that locks it next is told. */

#include "hazard.h"

static pthread_mutex_t* mutex;

static void* lock_and_end(void* unused) {
  must(pthread_mutex_lock(mutex) == 0, "pthread_mutex_lock");
  press();
  press();
  syscall(SYS_exit, 0);
  return unused;
}

int main(void) {
  mutex = (pthread_mutex_t*)(void*)(fresh(1) + 256);
  pthread_mutexattr_t robust;
  must(pthread_mutexattr_init(&robust) == 0, "pthread_mutexattr_init");
  must(pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST) == 0, "robust");
  must(pthread_mutex_init(mutex, &robust) == 0, "pthread_mutex_init");
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    must(pthread_create(&thread, NULL, lock_and_end, NULL) == 0, "pthread_create");
    must(pthread_join(thread, NULL) == 0, "pthread_join");
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 5;
    errno = pthread_mutex_timedlock(mutex, &soon);
    must(errno == EOWNERDEAD, "the dead owner was not seen");
    must(pthread_mutex_consistent(mutex) == 0, "pthread_mutex_consistent");
    must(pthread_mutex_unlock(mutex) == 0, "pthread_mutex_unlock");
  }
  must(pthread_mutex_destroy(mutex) == 0, "pthread_mutex_destroy");
  puts("ok");
  return 0;
}
