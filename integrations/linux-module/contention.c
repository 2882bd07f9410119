// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* A reader whose loads wait for one another, beside others that load the memory. */
#include <asm/tsc.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "nearfar.h"

#define CHUNKS_A_READER 32
#define LEAST_AREA \
  512UL /* of a generator: two sequences of loads and two of stores, 2 lines each */

static int check_load(const struct nearfar_contention* asked) {
  const bool generates = asked->role == NEARFAR_GENERATES;
  const bool stores = asked->op == NEARFAR_STORE || asked->op == NEARFAR_NT_STORE;

  if (generates != !!asked->accesses || asked->stores > asked->accesses) return -EINVAL;
  if (generates && (!stores || asked->area < LEAST_AREA)) return -EINVAL;
  if (asked->role == NEARFAR_READS) return asked->reads == 0 || asked->pause_ps ? -EINVAL : 0;
  return asked->reads || asked->run.members < 2 ? -EINVAL : 0;
}

static int check(const struct nearfar_contention* asked) {
  if (asked->role >= NEARFAR_ROLES || asked->area == 0 || asked->area % NEARFAR_LINE ||
      asked->lines || asked->stored || asked->cycles)
    return -EINVAL;
  if (asked->area / NEARFAR_LINE > NEARFAR_MOST_BLOCKS || asked->reads > NEARFAR_MOST_LINES ||
      asked->pause_ps > NEARFAR_MOST_PAUSE_PS)
    return -E2BIG;
  return check_load(asked) ?: nearfar_check_op(asked->op, NEARFAR_NO_FENCE);
}

/* Where a role needs it, a chain through the area; and nothing of the area in the caches. */
static int prepare(struct nearfar_session* session, const struct nearfar_contention* asked) {
  const u64 lines = asked->area / NEARFAR_LINE;
  u32* next = NULL;
  int error = 0;

  if (asked->role == NEARFAR_READS || asked->role == NEARFAR_CHASES) {
    error = nearfar_make_cycle(session, &next, lines, asked->seed);
    if (!error)
      error = nearfar_link(session, session->base, next, lines, NEARFAR_LINE, NEARFAR_LINE);
    kvfree(next);
  }
  if (!error) nearfar_flush(session->base, asked->area);
  return error;
}

static int read_singly(struct nearfar_session* session, u64 reads) {
  const u64 most = max(reads / CHUNKS_A_READER, 1ULL);
  void* at = session->base;
  u64 done, steps, cycles;
  int error = 0;

  for (done = 0; done < reads && !error; done += steps) {
    steps = min3(nearfar_units(session), most, reads - done);
    cycles = nearfar_followed(session, &at, steps, 0);
    error = nearfar_record(session, cycles, steps, steps, done);
    if (!error) error = nearfar_carry_on(session);
  }
  return error;
}

static void make_loader(struct nearfar_loader* loader, const struct nearfar_session* session,
                        const struct nearfar_contention* asked) {
  const u64 pause_1024 = mul_u64_u64_div_u64(asked->pause_ps, nearfar_cycles_of(1024000), 1000000);

  if (asked->role == NEARFAR_GENERATES)
    nearfar_make_generator(loader, session->base, asked->area, asked->stores, asked->accesses,
                           (int)asked->op, pause_1024);
  else
    nearfar_make_disturber(loader, session->base, asked->area, asked->role == NEARFAR_CHASES,
                           (int)asked->op, pause_1024, asked->seed);
}

/* Until the reader has finished. */
static int load(const struct nearfar_client* client, struct nearfar_session* session,
                struct nearfar_contention* asked, unsigned long team) {
  const u64 begun = get_cycles();
  struct nearfar_loader loader;
  u64 cycles;
  int error;

  make_loader(&loader, session, asked);
  do {
    nearfar_interrupts_off(session);
    cycles = nearfar_load(&loader, session->target_cycles);
    nearfar_interrupts_on(session);
    nearfar_note_cycles(cycles);
    error = nearfar_carry_on(session);
  } while (!error && !nearfar_has_ended(client, team));
  asked->lines = loader.lines;
  asked->stored = loader.stored;
  asked->cycles = get_cycles() - begun;
  return error;
}

int nearfar_contention(struct nearfar_client* client, struct nearfar_contention* asked) {
  const bool reads = asked->role == NEARFAR_READS;
  struct nearfar_session session;
  unsigned long team;
  int error = check(asked);

  if (error) return error;
  error = nearfar_begin(client, &session, &asked->run, 1, asked->area);
  if (!error) error = prepare(&session, asked);
  if (!error) error = nearfar_gather_led(client, asked->run.members, reads, &team);
  if (!error && reads) {
    error = read_singly(&session, asked->reads);
    nearfar_end_team(client, team);
  } else if (!error) {
    error = load(client, &session, asked, team);
  }
  return nearfar_end(&session, &asked->run, error);
}
