/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/* What the parts of the module have in common. */
#ifndef NEARFAR_H
#define NEARFAR_H

#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "access.h"
#include "nearfar_ioctl.h"

#define NEARFAR_LINE 64UL
#define NEARFAR_PAGE_MASK (PAGE_SIZE - 1)

struct page;
struct file;
struct dev_pagemap;

/* Memory to measure: `base` is NULL where there is none. */
struct nearfar_region {
  void* base;
  u64 bytes;
  u64 physical;
  enum nearfar_memory_kind kind;
  unsigned int order;          /* of a block of pages; ~0 where they were gathered one by one */
  void* small;                 /* the mapping by small pages, if there is one */
  struct file* dax;
  struct dev_pagemap* pagemap; /* keeps a DAX device's memory from going away */
};

/* One open file. */
struct nearfar_client {
  struct rw_semaphore guards_region; /* read: measurements; write: another memory */
  struct nearfar_region region;
  struct mutex guards_team;
  unsigned int waiting;  /* members of the next team that have come */
  unsigned int size;     /* of that team */
  unsigned int leading;  /* leaders among those members */
  unsigned long team;    /* counts the teams that have begun */
  unsigned long ended;   /* the last of them whose leader has finished */
  wait_queue_head_t begun;
};

/* memory.c; the caller holds guards_region for writing. */
int nearfar_take(struct nearfar_region* region, struct nearfar_memory* asked);
void nearfar_give_back(struct nearfar_region* region);
/* EBUSY where a process has mapped the memory since it was taken. */
int nearfar_still_alone(const struct nearfar_region* region);

/* contiguous.c: EOPNOTSUPP where this kernel does not export what it takes. */
int nearfar_take_contiguous(struct nearfar_region* region, u64 bytes, int node);
void nearfar_give_back_contiguous(struct nearfar_region* region);

/* reservation.c: the bytes from `physical` on that one memmap= reserves; 0: none. */
u64 nearfar_reserved_from(u64 physical);

/* timing.c */
extern u64 nearfar_longest_cycles;
u32 nearfar_features(void);
void nearfar_measure_overhead(u32 overhead[3]);

/* One measurement: its chunks, how long they are, and whether to go on. */
struct nearfar_session {
  struct nearfar_chunk* chunks;
  u64 room, made;
  u64 target_cycles;
  u64 most_units;    /* of a chunk */
  u64 fastest;       /* cycles of 1024 units; 0: not known yet */
  u64 last_units;
  u64 empty_cycles;  /* what timing nothing takes */
  void* base;
  unsigned long irq_flags;
  u64 begun_cycles;
};

int nearfar_begin(struct nearfar_client* client, struct nearfar_session* session,
                  const struct nearfar_run* run, u64 most_units, u64 footprint);
int nearfar_end(struct nearfar_session* session, struct nearfar_run* run, int error);
/* Sets how many units a chunk may have at most, where nearfar_begin was not told. */
int nearfar_check_op(u32 op, u32 fence);
/* All members of a team have come, or ETIMEDOUT, or EINTR. */
int nearfar_gather(struct nearfar_client* client, unsigned int members);
/* The same for a team that ends when its leader has finished; sets the team's number. A team
 * without a leader, or with several, has ended when it begins. */
int nearfar_gather_led(struct nearfar_client* client, unsigned int members, bool leads,
                       unsigned long* team);
bool nearfar_has_ended(const struct nearfar_client* client, unsigned long team);
void nearfar_end_team(struct nearfar_client* client, unsigned long team);
/* 0, or EINTR or ETIMEDOUT; between chunks. */
int nearfar_carry_on(struct nearfar_session* session);
/* How many units the next chunk should have. */
u64 nearfar_units(const struct nearfar_session* session);
/* Between the two interrupts are off and vector registers may be used. */
void nearfar_interrupts_off(struct nearfar_session* session);
void nearfar_interrupts_on(struct nearfar_session* session);
/* Notes for how long interrupts were off. */
void nearfar_note_cycles(u64 cycles);
/* Writes a chunk down and learns from it. */
int nearfar_record(struct nearfar_session* session, u64 cycles, u64 units, u64 lines, u64 at);
u64 nearfar_cycles_of(u64 ns);
/* Drops memory from the caches. */
void nearfar_flush(void* base, u64 bytes);

/* chain.c: a random cycle through blocks, which the caller frees by kvfree(), also after an error.
 */
int nearfar_make_cycle(struct nearfar_session* session, u32** next, u64 blocks, u64 seed);
/* Writes into the last line of each block where the next block begins. */
int nearfar_link(struct nearfar_session* session, char* base, const u32* next, u64 blocks,
                 u64 block, u64 stride);

/* follow.c: the cycles of so many dependent loads from *at on, with interrupts off. */
u64 nearfar_followed(struct nearfar_session* session, void** at, u64 steps, int changes);

/* chase.c, stream.c, follow.c, contention.c; the caller holds guards_region for reading. */
int nearfar_chase(struct nearfar_client* client, struct nearfar_chase* asked);
int nearfar_stream(struct nearfar_client* client, struct nearfar_stream* asked);
int nearfar_overwrite(struct nearfar_client* client, struct nearfar_overwrite* asked);
int nearfar_follow(struct nearfar_client* client, struct nearfar_follow* asked);
int nearfar_drop(struct nearfar_client* client, struct nearfar_drop* asked);
int nearfar_contention(struct nearfar_client* client, struct nearfar_contention* asked);

#endif
