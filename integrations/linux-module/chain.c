// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* A chain through the blocks of a region, in random order. */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "nearfar.h"

#define LINKED_AT_ONCE 4096

int nearfar_make_cycle(struct nearfar_session* session, u32** next, u64 blocks, u64 seed) {
  unsigned long random = seed;
  u64 i, down_to;
  int error;

  *next = kvmalloc_array(blocks, sizeof(**next), GFP_KERNEL | __GFP_NOWARN);
  if (!*next) return -ENOMEM;
  for (i = 0; i < blocks; i++) (*next)[i] = (u32)i;
  for (i = blocks; i > 1; i = down_to) {
    down_to = i > LINKED_AT_ONCE ? i - LINKED_AT_ONCE : 1;
    nearfar_random_cycle(*next, i, down_to, &random);
    error = nearfar_carry_on(session);
    if (error) return error;
  }
  return 0;
}

int nearfar_link(struct nearfar_session* session, char* base, const u32* next, u64 blocks,
                 u64 block, u64 stride) {
  u64 i;
  int error;

  for (i = 0; i < blocks; i++) {
    *(void**)(base + i * stride + block - NEARFAR_LINE) = base + next[i] * stride;
    if (i % LINKED_AT_ONCE) continue;
    error = nearfar_carry_on(session);
    if (error) return error;
  }
  return 0;
}
