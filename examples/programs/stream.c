/*
 * The four loops that STREAM is known for (copy, scale, add, triad), on several threads.
 *
 *   gcc -O2 -pthread -o stream stream.c
 *   nearfar run model:optane-100 -- ./stream 65536 2
 *
 * Arguments: doubles in each of the three arrays, and threads.
 *
 * What to look at: the bandwidth by each loop's own clock (standard error), which counts the bytes
 * that the program moves; in the report, how many lines memory moved for them: a store that misses
 * reads its line first, so copy moves half as much again. On Optane, reads against writes; with
 * more threads, where the bandwidth stops growing.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static size_t length;
static long threads;
static double *a, *b, *c;
static pthread_barrier_t barrier;

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run(int loop, size_t begin, size_t end) {
  const double scalar = 3;
  switch (loop) {
    case 0:
      for (size_t i = begin; i < end; ++i) c[i] = a[i];
      break;
    case 1:
      for (size_t i = begin; i < end; ++i) b[i] = scalar * c[i];
      break;
    case 2:
      for (size_t i = begin; i < end; ++i) c[i] = a[i] + b[i];
      break;
    default:
      for (size_t i = begin; i < end; ++i) a[i] = b[i] + scalar * c[i];
  }
}

static void* work(void* number) {
  static const char* const names[] = {"copy", "scale", "add", "triad"};
  static const double arrays[] = {2, 2, 3, 3};
  const long me = (long)number;
  const size_t begin = length * (size_t)me / (size_t)threads;
  const size_t end = length * (size_t)(me + 1) / (size_t)threads;
  for (size_t i = begin; i < end; ++i) a[i] = 1 + (double)i, b[i] = 2, c[i] = 0;
  for (int loop = 0; loop < 4; ++loop) {
    pthread_barrier_wait(&barrier);
    const double start = now_ns();
    run(loop, begin, end);
    pthread_barrier_wait(&barrier);
    if (me != 0) continue;
    const double bytes = arrays[loop] * sizeof(double) * (double)length;
    fprintf(stderr, "%-5s %.3f GB/s\n", names[loop], bytes / (now_ns() - start));
  }
  return NULL;
}

int main(int count, char** words) {
  length = count > 1 ? strtoull(words[1], NULL, 10) : 65536;
  threads = count > 2 ? atol(words[2]) : 1;
  if (length == 0 || threads < 1 || threads > 64) {
    return fprintf(stderr, "stream: expected LENGTH and 1 to 64 threads\n"), 2;
  }
  a = malloc(length * sizeof *a), b = malloc(length * sizeof *b), c = malloc(length * sizeof *c);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  pthread_t started[64];
  for (long i = 1; i < threads; ++i) pthread_create(&started[i], NULL, work, (void*)i);
  work(NULL);
  for (long i = 1; i < threads; ++i) pthread_join(started[i], NULL);
  double sum = 0;
  for (size_t i = 0; i < length; ++i) sum += a[i] + b[i] + c[i];
  printf("sum %.17g\n", sum);
  return 0;
}
