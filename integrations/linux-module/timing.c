// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* Chunks with interrupts off: how long they are, and when to stop. */
#include <asm/cacheflush.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/xcr.h>
#include <asm/tsc.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "nearfar.h"

#define TARGET_NS 100000ULL
#define FIRST_UNITS 64ULL
/* Lines that are accessed with interrupts off, at most: 16 ms at a microsecond a line. */
#define MOST_LINES 16384ULL
#define SECONDS_A_CALL 600
#define READINGS 255
#define FLUSHED_AT_ONCE (256UL << 10)

u64 nearfar_longest_cycles;
static u64 empty_cycles;

u32 nearfar_features(void) {
  u32 features = 0;

  if (boot_cpu_has(X86_FEATURE_XMM4_1)) features |= NEARFAR_HAS_SSE41;
  if (boot_cpu_has(X86_FEATURE_CLFLUSHOPT)) features |= NEARFAR_HAS_CLFLUSHOPT;
  if (boot_cpu_has(X86_FEATURE_CLWB)) features |= NEARFAR_HAS_CLWB;
  if (boot_cpu_has(X86_FEATURE_AVX2) && cpu_has_xfeatures(XFEATURE_MASK_YMM, NULL))
    features |= NEARFAR_HAS_AVX2;
  if (boot_cpu_has(X86_FEATURE_AVX512F) && cpu_has_xfeatures(XFEATURE_MASK_AVX512, NULL))
    features |= NEARFAR_HAS_AVX512;
  return features;
}

static int by_size(const void* one, const void* other) {
  const u32 a = *(const u32*)one, b = *(const u32*)other;

  return a < b ? -1 : a > b;
}

void nearfar_measure_overhead(u32 overhead[3]) {
  u32* readings = kcalloc(READINGS, sizeof(*readings), GFP_KERNEL);
  unsigned long flags;
  int i;

  memset(overhead, 0, 3 * sizeof(*overhead));
  if (!readings) return;
  kernel_fpu_begin();
  local_irq_save(flags);
  for (i = 0; i < READINGS; i++) readings[i] = (u32)nearfar_time_nothing();
  local_irq_restore(flags);
  kernel_fpu_end();
  sort(readings, READINGS, sizeof(*readings), by_size, NULL);
  overhead[0] = readings[READINGS / 10];
  overhead[1] = readings[READINGS / 2];
  overhead[2] = readings[READINGS * 9 / 10];
  kfree(readings);
  empty_cycles = overhead[1];
}

int nearfar_check_op(u32 op, u32 fence) {
  const u32 has = nearfar_features();

  if (op >= NEARFAR_OPS || fence >= NEARFAR_FENCES) return -EINVAL;
  if (op == NEARFAR_NT_LOAD && !(has & NEARFAR_HAS_SSE41)) return -EOPNOTSUPP;
  if (op == NEARFAR_STORE_CLWB && !(has & NEARFAR_HAS_CLWB)) return -EOPNOTSUPP;
  if ((op == NEARFAR_LOAD_CLFLUSHOPT || op == NEARFAR_STORE_CLFLUSHOPT) &&
      !(has & NEARFAR_HAS_CLFLUSHOPT))
    return -EOPNOTSUPP;
  return 0;
}

u64 nearfar_cycles_of(u64 ns) { return mul_u64_u64_div_u64(ns, tsc_khz ?: 2000000, 1000000); }

int nearfar_begin(struct nearfar_client* client, struct nearfar_session* session,
                  const struct nearfar_run* run, u64 unit_lines, u64 footprint) {
  const struct nearfar_region* region = &client->region;
  int error;

  memset(session, 0, sizeof(*session));
  if (run->protocol != NEARFAR_PROTOCOL) return -EPROTO;
  if (run->members == 0 || run->members > NEARFAR_MOST_MEMBERS || run->made != 0 ||
      run->target_ns > TARGET_NS || run->room == 0 || run->base % NEARFAR_LINE)
    return -EINVAL;
  if (run->room > NEARFAR_MOST_CHUNKS) return -E2BIG;
  if (!region->base) return -ENODATA;
  if (run->base > region->bytes || footprint > region->bytes - run->base) return -ERANGE;
  error = nearfar_still_alone(region);
  if (error) return error;
  session->chunks = kvmalloc_array(run->room, sizeof(*session->chunks), GFP_KERNEL | __GFP_NOWARN);
  if (!session->chunks) return -ENOMEM;
  session->room = run->room;
  session->target_cycles = nearfar_cycles_of(run->target_ns ?: TARGET_NS);
  session->most_units = max(MOST_LINES / unit_lines, 1ULL);
  session->last_units = FIRST_UNITS;
  session->empty_cycles = empty_cycles;
  session->base = (char*)region->base + run->base;
  session->begun_cycles = get_cycles();
  return 0;
}

int nearfar_end(struct nearfar_session* session, struct nearfar_run* run, int error) {
  if (session->chunks && !error) {
    run->made = session->made;
    if (copy_to_user((void __user*)(uintptr_t)run->chunks, session->chunks,
                     session->made * sizeof(*session->chunks)))
      error = -EFAULT;
  }
  kvfree(session->chunks);
  return error;
}

int nearfar_carry_on(struct nearfar_session* session) {
  cond_resched();
  if (signal_pending(current)) return -EINTR;
  if (get_cycles() - session->begun_cycles > nearfar_cycles_of(SECONDS_A_CALL * NSEC_PER_SEC))
    return -ETIMEDOUT;
  return 0;
}

/* No more than twice the last chunk, so that memory that turns slow has been noticed. */
u64 nearfar_units(const struct nearfar_session* session) {
  u64 fitting;

  if (!session->fastest) return min(FIRST_UNITS, session->most_units);
  fitting = session->target_cycles * 1024 / session->fastest;
  return clamp(min(fitting, 2 * session->last_units), 1ULL, session->most_units);
}

void nearfar_interrupts_off(struct nearfar_session* session) {
  kernel_fpu_begin();
  local_irq_save(session->irq_flags);
}

void nearfar_interrupts_on(struct nearfar_session* session) {
  local_irq_restore(session->irq_flags);
  kernel_fpu_end();
}

/* Several members may race here, and one of them be forgotten: it is only told. */
void nearfar_note_cycles(u64 cycles) {
  if (cycles > READ_ONCE(nearfar_longest_cycles)) WRITE_ONCE(nearfar_longest_cycles, cycles);
}

int nearfar_record(struct nearfar_session* session, u64 cycles, u64 units, u64 lines, u64 at) {
  u64 each;

  nearfar_note_cycles(cycles);
  each = max(cycles * 1024 / units, 1ULL);
  if (!session->fastest || each < session->fastest) session->fastest = each;
  session->last_units = units;
  if (session->made == session->room) return -ENOSPC;
  session->chunks[session->made++] = (struct nearfar_chunk){
      .cycles = cycles > session->empty_cycles ? cycles - session->empty_cycles : 0,
      .lines = lines,
      .at = at,
  };
  return 0;
}

void nearfar_flush(void* base, u64 bytes) {
  u64 at;

  for (at = 0; at < bytes; at += FLUSHED_AT_ONCE) {
    clflush_cache_range((char*)base + at, min_t(u64, bytes - at, FLUSHED_AT_ONCE));
    cond_resched();
  }
}
