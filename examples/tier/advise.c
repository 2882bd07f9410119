/*
 * Tells nearfar what will be used and what will not, and runs without it just the same.
 *
 *   cc -O2 -I"$(nearfar tier header)" -o advise examples/tier/advise.c
 *   nearfar tier run --near 16MiB --far /mnt/pmem/far -- ./advise
 *
 * Two tables of 6 MiB fit into near memory together; `log` is written once and not looked at again.
 * Once it is cold, its pages leave first, and the tables stay. Prints a sum, which does not depend
 * on where pages are, and how many pages were copied in while the tables were read.
 */
#include <inttypes.h>
#include <nearfar/tier.h>
#include <stdio.h>
#include <stdlib.h>

enum { TABLE = 6 << 20, LOG = 32 << 20, ROUNDS = 4 };

static uint64_t sum(const unsigned char *from, size_t bytes) {
  uint64_t total = 0;
  for (size_t i = 0; i < bytes; i += 64) total += from[i];
  return total;
}

static void fill(unsigned char *to, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; ++i) to[i] = (unsigned char)(seed = seed * 1664525u + 1013904223u);
}

int main(void) {
  unsigned char *table[2] = {malloc(TABLE), malloc(TABLE)};
  unsigned char *log = malloc(LOG);
  if (!table[0] || !table[1] || !log) return 1;
  fill(table[0], TABLE, 1);
  fill(table[1], TABLE, 2);
  fill(log, LOG, 3);

  printf("managed: %d\n", nearfar_managed(log));
  if (nearfar_advise(log, LOG, NEARFAR_COLD) != 0) perror("cold");
  for (int i = 0; i < 2; ++i) nearfar_advise(table[i], TABLE, NEARFAR_WILL_NEED);

  struct nearfar_stats before = {0}, after = {0};
  nearfar_get_stats(&before);
  uint64_t total = 0;
  for (int round = 0; round < ROUNDS; ++round)
    total += sum(table[0], TABLE) + sum(table[1], TABLE);
  nearfar_get_stats(&after);
  printf("sum: %" PRIu64 "\n", total + sum(log, LOG));
  fprintf(stderr, "copied in while the tables were read: %" PRIu64 " pages\n",
          after.copies_in - before.copies_in);
  return 0;
}
