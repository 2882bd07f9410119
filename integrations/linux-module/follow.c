// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* Dependent loads at chosen places, and lines thrown out of the caches. */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "nearfar.h"

#define MOST_WARM_PASSES 16

/* Writes at each offset the address of the one listed after it. */
static int link(struct nearfar_session* session, const struct nearfar_follow* asked,
                const u64* offsets, u64 bytes) {
  const u64 unit = asked->changes ? NEARFAR_LINE : sizeof(u64);
  char* base = session->base;
  u64 i;
  int error;

        /* All are looked at before one is used. */
  for (i = 0; i < asked->count; i++) {
    if (offsets[i] % unit) return -EINVAL;
    if (offsets[i] > bytes || unit > bytes - offsets[i]) return -ERANGE;
  }
  for (i = 0; i < asked->count; i++) {
    *(void**)(base + offsets[i]) = base + offsets[(i + 1) % asked->count];
    error = i % 4096 ? 0 : nearfar_carry_on(session);
    if (error) return error;
  }
  return 0;
}

u64 nearfar_followed(struct nearfar_session* session, void** at, u64 steps, int changes) {
  u64 cycles;

  nearfar_interrupts_off(session);
  cycles = nearfar_follow_words(at, steps, changes);
  nearfar_interrupts_on(session);
  return cycles;
}

static int follow(struct nearfar_session* session, const struct nearfar_follow* asked,
                  const u64* offsets) {
  void* at = (char*)session->base + offsets[0];
  const u64 warming = asked->count * asked->warm_passes;
  const int changes = (int)asked->changes;
  u64 done, steps, cycles;
  int error = 0;

  for (done = 0; done < warming && !error; done += steps) {
    steps = min(warming - done, session->most_units);
    nearfar_followed(session, &at, steps, changes);
    error = nearfar_carry_on(session);
  }
        /* The first chunk only finds out how long a load takes. */
  steps = nearfar_units(session);
  if (!error)
    error =
        nearfar_record(session, nearfar_followed(session, &at, steps, changes), steps, steps, 0);
  session->made = 0;
  while (session->made < asked->least_chunks && !error) {
    steps = nearfar_units(session);
    cycles = nearfar_followed(session, &at, steps, changes);
    error = nearfar_record(session, cycles, steps, steps, 0);
    if (!error) error = nearfar_carry_on(session);
  }
  return error;
}

int nearfar_follow(struct nearfar_client* client, struct nearfar_follow* asked) {
  struct nearfar_session session;
  u64* offsets;
  int error;

  if (asked->count == 0 || asked->changes > 1) return -EINVAL;
  if (asked->count > NEARFAR_MOST_OFFSETS || asked->least_chunks > NEARFAR_MOST_CHUNKS ||
      asked->warm_passes > MOST_WARM_PASSES)
    return -E2BIG;
  offsets = kvmalloc_array(asked->count, sizeof(*offsets), GFP_KERNEL | __GFP_NOWARN);
  if (!offsets) return -ENOMEM;
  error = nearfar_begin(client, &session, &asked->run, 1, 0);
  if (!error && copy_from_user(offsets, (void __user*)(uintptr_t)asked->offsets,
                               asked->count * sizeof(*offsets)))
    error = -EFAULT;
  if (!error) error = link(&session, asked, offsets, client->region.bytes - asked->run.base);
  if (!error) error = nearfar_gather(client, asked->run.members);
  if (!error) error = follow(&session, asked, offsets);
  kvfree(offsets);
  return nearfar_end(&session, &asked->run, error);
}

int nearfar_drop(struct nearfar_client* client, struct nearfar_drop* asked) {
  struct nearfar_session session;
  u64 cycles;
  int error;

  if (asked->lines == 0 || asked->changes > 1 || asked->zero) return -EINVAL;
  if (asked->lines > NEARFAR_MOST_STEP_BYTES / NEARFAR_LINE ||
      asked->least_chunks > NEARFAR_MOST_CHUNKS)
    return -E2BIG;
  error = nearfar_begin(client, &session, &asked->run, asked->lines, asked->lines * NEARFAR_LINE);
  if (!error) error = nearfar_gather(client, asked->run.members);
  while (!error && session.made < asked->least_chunks) {
    nearfar_interrupts_off(&session);
    cycles = nearfar_drop_lines(session.base, asked->lines, (int)asked->changes);
    nearfar_interrupts_on(&session);
    error = nearfar_record(&session, cycles, 1, asked->lines, 0);
    if (!error) error = nearfar_carry_on(&session);
  }
  return nearfar_end(&session, &asked->run, error);
}
