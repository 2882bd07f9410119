// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* Independent accesses at full speed, and writes that are timed one by one. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "nearfar.h"

#define CHUNKS_A_STREAM 32
#define WRITE_BYTES 256UL
#define WRITES_AT_ONCE 64

static int check_stream(const struct nearfar_stream* asked) {
  if (asked->flags & ~(NEARFAR_HAS_VALUE | NEARFAR_HAS_HELD) || asked->access == 0 ||
      asked->access % NEARFAR_LINE || asked->stride % NEARFAR_LINE ||
      asked->fence_every % NEARFAR_LINE || asked->reads_percent > 100 || asked->lines == 0 ||
      (asked->stride && asked->stride < asked->access))
    return -EINVAL;
  if (asked->access > NEARFAR_MOST_STEP_BYTES || asked->lines > NEARFAR_MOST_LINES ||
      asked->fence_every > NEARFAR_MOST_LINES)
    return -E2BIG;
  if (asked->area < asked->access || asked->area < asked->stride) return -ERANGE;
  return nearfar_check_op(asked->op, asked->fence);
}

static int hold(struct nearfar_session* session, u64 area, const void* line) {
  u64 at, bytes;
  int error = 0;

  area -= area % NEARFAR_LINE;
  for (at = 0; at < area && !error; at += bytes) {
    bytes = min_t(u64, area - at, NEARFAR_MOST_STEP_BYTES);
    nearfar_interrupts_off(session);
    nearfar_fill((char*)session->base + at, bytes, line);
    nearfar_interrupts_on(session);
    error = nearfar_carry_on(session);
  }
  return error;
}

static int stream(struct nearfar_session* session, const struct nearfar_stream* asked,
                  const void* value) {
  const u64 each = asked->access / NEARFAR_LINE;
  const u64 wanted = DIV64_U64_ROUND_UP(asked->lines, each);
  const u64 most = max(wanted / CHUNKS_A_STREAM, 1ULL);
  struct nearfar_accesses accesses = {
      .base = session->base,
      .area = asked->area,
      .access = asked->access,
      .stride = asked->stride,
      .fence_every = asked->fence_every,
      .value = value,
      .reads_percent = asked->reads_percent,
      .op = (int)asked->op,
      .fence = (int)asked->fence,
      .random = asked->seed,
  };
  u64 count, cycles;
  int error = 0;

  while (accesses.done < wanted && !error) {
    count = min3(nearfar_units(session), most, wanted - accesses.done);
    nearfar_interrupts_off(session);
    cycles = nearfar_access(&accesses, count);
    nearfar_interrupts_on(session);
    error = nearfar_record(session, cycles, count, count * each, 0);
    if (!error) error = nearfar_carry_on(session);
  }
  return error;
}

int nearfar_stream(struct nearfar_client* client, struct nearfar_stream* asked) {
  struct nearfar_session session;
  u8* lines;
  int error = check_stream(asked);

  if (error) return error;
  lines = kmalloc(2 * NEARFAR_LINE, GFP_KERNEL); /* aligned to its size, as vectors want it */
  if (!lines) return -ENOMEM;
  memcpy(lines, asked->value, NEARFAR_LINE);
  memcpy(lines + NEARFAR_LINE, asked->held, NEARFAR_LINE);
  error = nearfar_begin(client, &session, &asked->run, asked->access / NEARFAR_LINE, asked->area);
  if (!error && (asked->flags & NEARFAR_HAS_HELD))
    error = hold(&session, asked->area, lines + NEARFAR_LINE);
  if (!error) {
    nearfar_flush(session.base, asked->area);
    error = nearfar_gather(client, asked->run.members);
  }
  if (!error) error = stream(&session, asked, asked->flags & NEARFAR_HAS_VALUE ? lines : NULL);
  error = nearfar_end(&session, &asked->run, error);
  kfree(lines);
  return error;
}

static int overwrite(struct nearfar_session* session, const struct nearfar_overwrite* asked) {
  const u64 lines = WRITE_BYTES / NEARFAR_LINE;
  u64 cycles[WRITES_AT_ONCE];
  u64 done, count, i, at = 0;
  int error = 0;

  for (done = 0; done < asked->writes && !error; done += count) {
    count = min_t(u64, asked->writes - done, WRITES_AT_ONCE);
    nearfar_interrupts_off(session);
    for (i = 0; i < count; i++) {
      cycles[i] = nearfar_write((char*)session->base + at, WRITE_BYTES, done + i, (int)asked->op,
                                (int)asked->fence);
      at = at + WRITE_BYTES == asked->region ? 0 : at + WRITE_BYTES;
    }
    nearfar_interrupts_on(session);
    for (i = 0; i < count && !error; i++) error = nearfar_record(session, cycles[i], 1, lines, 0);
    if (!error) error = nearfar_carry_on(session);
  }
  return error;
}

int nearfar_overwrite(struct nearfar_client* client, struct nearfar_overwrite* asked) {
  struct nearfar_session session;
  int error;

  if (asked->region == 0 || asked->region % WRITE_BYTES || asked->op < NEARFAR_STORE)
    return -EINVAL;
  if (asked->writes > NEARFAR_MOST_CHUNKS) return -E2BIG;
  error = nearfar_check_op(asked->op, asked->fence);
  if (error) return error;
  error = nearfar_begin(client, &session, &asked->run, WRITE_BYTES / NEARFAR_LINE, asked->region);
  if (!error) {
    nearfar_flush(session.base, asked->region);
    error = nearfar_gather(client, asked->run.members);
  }
  if (!error) error = overwrite(&session, asked);
  return nearfar_end(&session, &asked->run, error);
}
