/*
 * Random reads and writes of blocks in a mapped file, as fio's libpmem engine makes them.
 *
 *   gcc -O2 -I"$(nearfar run --include)" -o mapped_io mapped_io.c -lpmem -lm
 *   mkdir -p pmem
 *   nearfar run model:optane-100 --pmem pmem --roi -- ./mapped_io pmem/file 64M 20000 zipf
 *
 * Arguments: the file, which goes when the program ends; its size (K, M, G); operations; how blocks are drawn,
 * `even` or `zipf` (exponent 0.99, as fio's zipf:0.99, scattered over the file); and, if others than
 * 256 and 1 are wanted, bytes of a block and a seed. Half of the operations write and persist a
 * block, the others read one and check it.
 *
 * The operations are the region of interest. fio itself, which first calibrates its clocks for most
 * of a run, is in fio.sh. What to look at: with `zipf`, how few blocks of the media take the writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <libpmem.h>
#include <nearfar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ycsb_keys.h"

enum { MOST_BYTES = 64 << 10 };

static uint64_t words_of_block;
static uint64_t wrong;

static uint64_t size_of(const char* text) {
  char* end;
  const uint64_t size = strtoull(text, &end, 10);
  return size << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0);
}

/* A block's words: its number, how often it was written, and words that follow from both. */
static void fill(uint64_t* words, uint64_t block, uint64_t times) {
  words[0] = block;
  words[1] = times;
  for (uint64_t i = 2; i < words_of_block; ++i) words[i] = (block ^ times * 31) + i;
}
static void check(const uint64_t* words, uint64_t block) {
  if (words[0] == 0 && words[1] == 0) return; /* never written */
  wrong += words[0] != block;
  for (uint64_t i = 2; i < words_of_block; ++i) wrong += words[i] != (block ^ words[1] * 31) + i;
}

int main(int count, char** words) {
  const int zipf = count > 4 && strcmp(words[4], "zipf") == 0;
  if (count < 5 || count > 7 || (!zipf && strcmp(words[4], "even") != 0)) {
    return fprintf(stderr, "mapped_io FILE SIZE OPERATIONS even|zipf [BLOCK [SEED]]\n"), 2;
  }
  const uint64_t size = size_of(words[2]), operations = strtoull(words[3], NULL, 10);
  const uint64_t bytes = count > 5 ? strtoull(words[5], NULL, 10) : 256;
  const uint64_t seed = count > 6 ? strtoull(words[6], NULL, 10) : 1;
  if (bytes < 64 || bytes % 64 != 0 || bytes > MOST_BYTES || size / bytes < 2) {
    return fprintf(stderr, "mapped_io: blocks are lines of 64 bytes, and the file has two\n"), 2;
  }
  int file;
  while ((file = open(words[1], O_RDWR | O_CREAT | O_EXCL, 0600)) < 0 && errno == EEXIST) {
    unlink(words[1]);
  }
  if (file < 0 || ftruncate(file, (off_t)size) != 0) return perror("mapped_io"), 1;
  char* const base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) return perror("mapped_io"), 1;
  unlink(words[1]); /* what a run leaves would be another run's input */
  const uint64_t blocks = size / bytes;
  words_of_block = bytes / 8;
  struct ycsb draw;
  ycsb_begin(&draw, 'A', blocks, seed);
  static uint64_t made[MOST_BYTES / 8];
  uint64_t writes = 0;
  NEARFAR_ROI_BEGIN();
  for (uint64_t i = 0; i < operations; ++i) {
    const uint64_t block = zipf ? ycsb_key(&draw) : ycsb_below(&draw, blocks);
    uint64_t* const at = (uint64_t*)(base + block * bytes);
    if (ycsb_next(&draw) == YCSB_READ) {
      check(at, block);
    } else {
      fill(made, block, at[1] + 1);
      pmem_memcpy_persist(at, made, bytes);
      ++writes;
    }
  }
  NEARFAR_ROI_END();
  uint64_t counted = 0;
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t* const at = (const uint64_t*)(base + block * bytes);
    check(at, block);
    counted += at[1];
  }
  wrong += counted != writes;
  printf("%llu writes, %llu wrong\n", (unsigned long long)writes, (unsigned long long)wrong);
  return wrong != 0;
}
