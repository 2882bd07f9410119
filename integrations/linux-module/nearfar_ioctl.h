/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * What a program asks of /dev/nearfar. Every structure begins with NEARFAR_PROTOCOL, so that a
 * program and a module of different versions refuse each other (EPROTO). Fields named `zero` are 0.
 * python/nearfar/measuring/kernel/protocol.py says the same in Python; a test compares them.
 */
#ifndef NEARFAR_IOCTL_H
#define NEARFAR_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define NEARFAR_PROTOCOL 1

/* The limits; beyond them: E2BIG. */
#define NEARFAR_MOST_STEP_BYTES (64UL << 10)  /* of a block, or of an access of a stream */
#define NEARFAR_MOST_BLOCKS (1UL << 26)       /* of a chase's region */
#define NEARFAR_MOST_OFFSETS (1UL << 22)      /* of a walk along chosen offsets */
#define NEARFAR_MOST_CHUNKS (1UL << 20)       /* timings that one call answers */
#define NEARFAR_MOST_LINES (1UL << 36)        /* that one call asks for */
#define NEARFAR_MOST_ALLOCATED (1UL << 30)    /* bytes of contiguous memory */
#define NEARFAR_MOST_MEMBERS 64               /* calls that begin together */
#define NEARFAR_MOST_PAUSE_PS 1000000000000UL /* between two accesses of a contention */

/* In the order of enum class Op of core/probe/isa.h. */
enum nearfar_op {
  NEARFAR_LOAD,
  NEARFAR_NT_LOAD,
  NEARFAR_LOAD_CLFLUSHOPT,
  NEARFAR_LOAD_STORE,
  NEARFAR_STORE,
  NEARFAR_NT_STORE,
  NEARFAR_STORE_CLWB,
  NEARFAR_STORE_CLFLUSHOPT,
  NEARFAR_OPS,
};

/* In the order of enum class Fence. */
enum nearfar_fence {
  NEARFAR_NO_FENCE,
  NEARFAR_SFENCE,
  NEARFAR_MFENCE,
  NEARFAR_CPUID,
  NEARFAR_FENCES,
};

/* Instructions that this processor has. */
#define NEARFAR_HAS_CLFLUSHOPT 1
#define NEARFAR_HAS_CLWB 2
#define NEARFAR_HAS_AVX2 4
#define NEARFAR_HAS_AVX512 8
#define NEARFAR_HAS_SSE41 16

struct nearfar_info {
  __u32 protocol;        /* in and out: read from a module of any version */
  __u32 features;
  __u64 tsc_khz;
  __u32 overhead[3];     /* cycles of an empty timing: 10, 50 and 90 percent of them take less */
  __u32 zero;
  __u64 longest_cycles;  /* with interrupts off, since the module was loaded */
};

enum nearfar_memory_kind {
  NEARFAR_RELEASE,
  NEARFAR_ALLOCATE,  /* contiguous memory of the system */
  NEARFAR_RANGE,     /* physical memory that the kernel's command line reserves by memmap= */
  NEARFAR_DAX,       /* the DAX device that the descriptor `fd` has open for writing */
};

#define NEARFAR_SMALL_PAGES 1 /* mapped by pages of 4 KiB, not of a range */

/* The memory that this open file measures; what it had before is given back. */
struct nearfar_memory {
  __u32 protocol;
  __u32 kind;
  __u32 flags;
  __u32 zero;
  __s32 node;      /* of NEARFAR_ALLOCATE; -1: any */
  __s32 fd;        /* of NEARFAR_DAX, otherwise 0 */
  __u64 physical;  /* of NEARFAR_RANGE; out: where the memory begins */
  __u64 bytes;     /* whole pages; 0: all that is reserved from there; out: what was taken */
};

/* Lines accessed with interrupts off, and how long they took. */
struct nearfar_chunk {
  __u64 cycles;
  __u64 lines;
  __u64 at;  /* lines walked before it in its region */
};

/* What every measurement has: where its timings go, and how many calls begin together. */
struct nearfar_run {
  __u32 protocol;
  __u32 members;   /* calls on this file that begin together, 1 for a call alone */
  __u64 base;      /* bytes from the beginning of the memory */
  __u64 chunks;    /* address of an array of struct nearfar_chunk */
  __u64 room;      /* its length */
  __u64 made;      /* out: how many were filled in; at most `room` */
  __u64 target_ns; /* of a chunk, at most and by default (0) 100,000 */
};

#define NEARFAR_FENCE_REGION 1 /* enum class FencePlace of core/probe/chase.h */
#define NEARFAR_FENCE_BLOCK 2

#define NEARFAR_REPEAT 1    /* one region again and again, or else consecutive ones */
#define NEARFAR_READ_BACK 2 /* after the stores of a region, non-temporal loads of it */
#define NEARFAR_TABLE 4     /* successors of loads come from a table in other memory */

/* As ChaseRequest of core/probe/chase.h. */
struct nearfar_chase {
  struct nearfar_run run;
  __u64 region;
  __u64 block;
  __u64 stride;
  __u64 lines;
  __u64 least_chunks;
  __u64 seed;
  __u32 op;
  __u32 fence;
  __u32 fence_place;
  __u32 flags;
};

#define NEARFAR_HAS_VALUE 1
#define NEARFAR_HAS_HELD 2

/* As StreamRequest of core/probe/stream.h. */
struct nearfar_stream {
  struct nearfar_run run;
  __u64 access;
  __u64 stride; /* 0: random */
  __u64 area;
  __u64 fence_every;
  __u64 lines;
  __u64 seed;
  __u32 op;
  __u32 fence;
  __u32 reads_percent;
  __u32 flags;
  __u8 value[64];
  __u8 held[64];
};

/* As OverwriteRequest of core/probe/overwrite.h: a chunk for each write of 256 B. */
struct nearfar_overwrite {
  struct nearfar_run run;
  __u64 region;
  __u64 writes;
  __u32 op;
  __u32 fence;
};

/* As FollowRequest of core/probe/chase.h: dependent loads at chosen offsets. */
struct nearfar_follow {
  struct nearfar_run run;
  __u64 offsets; /* address of an array of __u64 */
  __u64 count;
  __u64 least_chunks;
  __u32 warm_passes;
  __u32 changes; /* 1: each line after it has been loaded */
};

/* As DropRequest of core/probe/drop.h. */
struct nearfar_drop {
  struct nearfar_run run;
  __u64 lines;
  __u64 least_chunks;
  __u32 changes;
  __u32 zero;
};

/* What a member of a contention does. */
enum nearfar_role {
  NEARFAR_READS, /* dependent loads of random lines, timed; one of a team's members does this */
  NEARFAR_GENERATES, /* loads and stores in order, at a pace, until the reader has finished */
  NEARFAR_CHASES, /* as the reader, but is not timed */
  NEARFAR_DISTURBS, /* accesses random lines */
  NEARFAR_ROLES,
};

/*
 * A reader beside others, each in `area` bytes of its own: as LoadedRequest of core/probe/loaded.h
 * and ContentionRequest of core/probe/stream.h.
 */
struct nearfar_contention {
  struct nearfar_run run;
  __u64 area;
  __u64 reads; /* of the reader, otherwise 0 */
  __u64 seed;
  __u64 pause_ps; /* from an access to the next, at least; of a generator in the mean */
  __u64 lines; /* out, of all but the reader: accessed */
  __u64 stored; /* out, of a generator: of these, lines stored */
  __u64 cycles; /* out: from their first access to their last */
  __u32 role;
  __u32 op; /* of random accesses, or of a generator's stores */
  __u32 stores; /* of a generator, among `accesses`, evenly; otherwise 0 */
  __u32 accesses;
};

#define NEARFAR_IOC_INFO _IOWR('N', 1, struct nearfar_info)
#define NEARFAR_IOC_MEMORY _IOWR('N', 2, struct nearfar_memory)
#define NEARFAR_IOC_CHASE _IOWR('N', 16, struct nearfar_chase)
#define NEARFAR_IOC_STREAM _IOWR('N', 17, struct nearfar_stream)
#define NEARFAR_IOC_OVERWRITE _IOWR('N', 18, struct nearfar_overwrite)
#define NEARFAR_IOC_FOLLOW _IOWR('N', 19, struct nearfar_follow)
#define NEARFAR_IOC_DROP _IOWR('N', 20, struct nearfar_drop)
#define NEARFAR_IOC_CONTENTION _IOWR('N', 21, struct nearfar_contention)

#endif
