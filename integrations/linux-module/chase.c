// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* A chain through regions of memory, in the same steps as core/probe/chase.cpp. */
#include <linux/mm.h>
#include <linux/sched.h>

#include "nearfar.h"

#define CHUNKS_A_PASS 32
#define LEAST_CHUNK_LINES 512

struct chaser {
  const struct nearfar_chase* asked;
  struct nearfar_session session;
  struct nearfar_way way;
  u64 blocks, block_lines, regions, span, most;
  u32* next;
};

static bool is_load(u32 op) { return op <= NEARFAR_LOAD_STORE; }

static bool repeats(const struct chaser* chaser) { return chaser->asked->flags & NEARFAR_REPEAT; }

static bool reads_back(const struct chaser* chaser) {
  return chaser->asked->flags & NEARFAR_READ_BACK;
}

/* Caches are to be missed every time: a repeated region is dropped between passes. */
static bool drops_between_passes(const struct chaser* chaser) {
  return repeats(chaser) && chaser->asked->op == NEARFAR_NT_LOAD;
}

static int check(const struct nearfar_chase* asked) {
  const u64 most = NEARFAR_MOST_STEP_BYTES;

  if (asked->flags & ~(NEARFAR_REPEAT | NEARFAR_READ_BACK | NEARFAR_TABLE) ||
      asked->fence_place > NEARFAR_FENCE_BLOCK || asked->block == 0 || asked->region == 0 ||
      asked->block % NEARFAR_LINE || asked->stride % NEARFAR_LINE || asked->stride < asked->block ||
      asked->region % asked->block)
    return -EINVAL;
  if (asked->block > most || asked->lines > NEARFAR_MOST_LINES ||
      asked->least_chunks > NEARFAR_MOST_CHUNKS || asked->stride > NEARFAR_MOST_LINES ||
      asked->region / asked->block > NEARFAR_MOST_BLOCKS)
    return -E2BIG;
  if ((asked->flags & NEARFAR_READ_BACK) && is_load(asked->op)) return -EINVAL;
  return nearfar_check_op(asked->op, asked->fence);
}

static u64 chunk_units(const struct chaser* chaser) {
  return min(nearfar_units(&chaser->session), chaser->most);
}

static void set_pass(struct chaser* chaser, u64 pass) {
  chaser->way.base = (char*)chaser->session.base + (repeats(chaser) ? 0 : pass * chaser->span);
}

/* Whole regions in one chunk. */
static int time_regions(struct chaser* chaser, u64 pass, u64 count) {
  struct nearfar_session* session = &chaser->session;
  const u64 steps = count * chaser->blocks * (reads_back(chaser) ? 2 : 1);
  u64 cycles;

  set_pass(chaser, pass);
  nearfar_interrupts_off(session);
  cycles =
      nearfar_walk_regions(&chaser->way, chaser->blocks, count, repeats(chaser) ? 0 : chaser->span);
  nearfar_interrupts_on(session);
  return nearfar_record(session, cycles, steps, steps * chaser->block_lines, 0);
}

/* One walk of a region in chunks of equal length; `before`: lines walked in it already. */
static int time_steps(struct chaser* chaser, bool back, u64 before) {
  struct nearfar_session* session = &chaser->session;
  unsigned long index = 0;
  u64 done, left, pieces, units, cycles;
  int error = 0;

  for (done = 0; done < chaser->blocks && !error; done += units) {
    left = chaser->blocks - done;
    pieces = DIV64_U64_ROUND_UP(left, chunk_units(chaser));
    units = DIV64_U64_ROUND_UP(left, pieces);
    nearfar_interrupts_off(session);
    if (back)
      cycles = nearfar_walk_back(&chaser->way, &index, units, units == left);
    else
      cycles = nearfar_walk(&chaser->way, &index, units, units == left);
    nearfar_interrupts_on(session);
    error = nearfar_record(session, cycles, units, units * chaser->block_lines,
                           before + done * chaser->block_lines);
    if (!error) error = nearfar_carry_on(session);
  }
  return error;
}

static int time_region(struct chaser* chaser, u64 pass) {
  int error;

  if (drops_between_passes(chaser)) nearfar_flush(chaser->session.base, chaser->span);
  set_pass(chaser, pass);
  error = time_steps(chaser, false, 0);
  if (error || !reads_back(chaser)) return error;
  mb();
  return time_steps(chaser, true, chaser->blocks * chaser->block_lines);
}

/* Lines are linked where loads are to follow them, and everything leaves the caches. */
static int prepare(struct chaser* chaser) {
  struct nearfar_session* session = &chaser->session;
  const u64 regions = repeats(chaser) ? 1 : chaser->regions;
  const struct nearfar_way* way = &chaser->way;
  u64 region;
  int error = nearfar_make_cycle(session, &chaser->next, chaser->blocks, chaser->asked->seed);

  for (region = 0; !error && is_load(chaser->asked->op) && region < regions; region++)
    error = nearfar_link(session, (char*)session->base + region * chaser->span, chaser->next,
                         chaser->blocks, way->block, way->stride);
  if (error) return error;
  chaser->way.next = chaser->next;
  nearfar_flush(session->base, regions * chaser->span);
  if (!repeats(chaser) || drops_between_passes(chaser)) return 0;
  error = time_region(chaser, 0); /* once, to be warm */
  session->made = 0;
  return error;
}

static u64 regions_together(const struct chaser* chaser, u64 left) {
  if (drops_between_passes(chaser)) return 1;
  return clamp(chunk_units(chaser) / chaser->blocks, 1ULL, max(left, 1ULL));
}

static int chase(struct chaser* chaser) {
  const struct nearfar_chase* asked = chaser->asked;
  u64 pass, together, made;
  int error = 0;

  for (pass = 0; !error; pass += together) {
    made = chaser->session.made;
    if (pass >= chaser->regions && !(repeats(chaser) && made < asked->least_chunks)) break;
    together = regions_together(chaser, chaser->regions - min(pass, chaser->regions));
    if (together > 1)
      error = time_regions(chaser, pass, together);
    else
      error = time_region(chaser, pass);
    if (!error) error = nearfar_carry_on(&chaser->session);
  }
  return error;
}

int nearfar_chase(struct nearfar_client* client, struct nearfar_chase* asked) {
  struct chaser chaser = {.asked = asked};
  u64 footprint;
  int error = check(asked);

  if (error) return error;
  chaser.blocks = asked->region / asked->block;
  chaser.block_lines = asked->block / NEARFAR_LINE;
  chaser.span = chaser.blocks * asked->stride;
  chaser.regions = max(DIV64_U64_ROUND_UP(asked->lines, asked->region / NEARFAR_LINE), 1ULL);
  chaser.most =
      max(max(asked->lines / CHUNKS_A_PASS, (u64)LEAST_CHUNK_LINES) / chaser.block_lines, 1ULL);
  if (check_mul_overflow(chaser.span, repeats(&chaser) ? 1 : chaser.regions, &footprint))
    return -ERANGE;
  chaser.way = (struct nearfar_way){
      .block = asked->block,
      .stride = asked->stride,
      .op = (int)asked->op,
      .in_table = !!(asked->flags & NEARFAR_TABLE),
      .block_fence = asked->fence_place == NEARFAR_FENCE_BLOCK ? (int)asked->fence : 0,
      .end_fence = asked->fence_place ? (int)asked->fence : 0,
      .read_back = reads_back(&chaser),
  };
  error = nearfar_begin(client, &chaser.session, &asked->run, chaser.block_lines, footprint);
  if (!error) error = prepare(&chaser);
  if (!error) error = nearfar_gather(client, asked->run.members);
  if (!error) error = chase(&chaser);
  kvfree(chaser.next);
  return nearfar_end(&chaser.session, &asked->run, error);
}
