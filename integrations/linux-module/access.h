/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * The access kernels of core/probe, callable from C. They use vector registers: every call but
 * nearfar_random_cycle stands between kernel_fpu_begin and kernel_fpu_end.
 */
#ifndef NEARFAR_ACCESS_H
#define NEARFAR_ACCESS_H

#ifdef __cplusplus
extern "C" {
#endif

/* A way through the blocks of a region; the enumerations are those of nearfar_ioctl.h. */
struct nearfar_way {
  void* base;
  unsigned long block;
  unsigned long stride;
  const unsigned int* next; /* the block after each */
  int op;
  int in_table; /* successors of loads come from `next` */
  int block_fence;
  int end_fence; /* where a region ends */
  int read_back;
};

/* Walks `steps` blocks from *index on; answers cycles. `ends`: with the region's fence. */
unsigned long nearfar_walk(const struct nearfar_way* way, unsigned long* index, unsigned long steps,
                           int ends);

/* Walks the read-back of `way` instead. */
unsigned long nearfar_walk_back(const struct nearfar_way* way, unsigned long* index,
                                unsigned long steps, int ends);

/* Walks `count` whole regions of `blocks` blocks, the next one `apart` bytes after each. */
unsigned long nearfar_walk_regions(const struct nearfar_way* way, unsigned long blocks,
                                   unsigned long count, unsigned long apart);

struct nearfar_accesses {
  void* base;
  unsigned long area;
  unsigned long access;
  unsigned long stride;
  unsigned long fence_every;
  const void* value; /* a line that stores write, or NULL */
  unsigned int reads_percent;
  int op;
  int fence;
  unsigned long done; /* where the stream has come to */
  unsigned long random;
  unsigned long since_fence;
};

unsigned long nearfar_access(struct nearfar_accesses* accesses, unsigned long count);

/* One write of `bytes`, fenced. */
unsigned long nearfar_write(void* at, unsigned long bytes, unsigned long word, int op, int fence);

/* Fills memory with the line `value`. */
void nearfar_fill(void* at, unsigned long bytes, const void* value);

/* Follows single words from *at. */
unsigned long nearfar_follow_words(void** at, unsigned long steps, int changes);

/* Loads `lines` lines, or changes them, and times how they are dropped. */
unsigned long nearfar_drop_lines(void* base, unsigned long lines, int changes);

/* One that loads the memory beside a reader; its state is a class of core/probe. */
struct nearfar_loader {
  unsigned long state[32];
  int generates;
  unsigned long lines; /* so far */
  unsigned long stored; /* of these, by a generator */
};

/* A generator; `pause_1024` is the mean time from one access to the next, in 1/1024 of a cycle. */
void nearfar_make_generator(struct nearfar_loader* loader, void* base, unsigned long area,
                            unsigned int stores, unsigned int accesses, int op,
                            unsigned long pause_1024);

/* Chases from `base` on, or accesses at random. */
void nearfar_make_disturber(struct nearfar_loader* loader, void* base, unsigned long area,
                            int chases, int op, unsigned long pause_1024, unsigned long seed);

/* Loads the memory for about so many cycles; answers how many it took. */
unsigned long nearfar_load(struct nearfar_loader* loader, unsigned long cycles);

/* The cycles of a timing of nothing. */
unsigned long nearfar_time_nothing(void);

/*
 * Makes next[] a random cycle as random_cycle() of core/probe/chain.h does, from the block `from`
 * down to above `down_to`; *random is the seed at first. Uses no vector registers.
 */
void nearfar_random_cycle(unsigned int* next, unsigned long from, unsigned long down_to,
                          unsigned long* random);

/* 0, 1, 2: vectors of 128, 256 and 512 bits; set once, before all calls. */
extern int nearfar_width;

#ifdef __cplusplus
}
#endif

#endif
