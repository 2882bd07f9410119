// SPDX-License-Identifier: (MIT OR GPL-2.0)
#include "access.h"

#include <bit>
#include <new>

#include "base/rng.h"
#include "probe/clock.h"
#include "probe/disturber.h"
#include "probe/generator.h"
#include "probe/instructions.h"
#include "probe/kernels.h"

using namespace nearfar;
using namespace nearfar::probe;

int nearfar_width = 0;

namespace {

Width width() { return static_cast<Width>(nearfar_width); }

Walk walk_of(const nearfar_way& way) {
  return {.blocks = {static_cast<std::byte*>(way.base), way.block, way.stride},
          .next = way.next,
          .fence = static_cast<Fence>(way.block_fence)};
}

WalkKernel kernel_of(const nearfar_way& way) {
  return walk_kernel(static_cast<Op>(way.op),
                     way.in_table != 0 ? Successor::table : Successor::lines, width());
}

WalkKernel back_kernel() { return walk_kernel(Op::nt_load, Successor::lines, width()); }

std::uint64_t timed(const nearfar_way& way, WalkKernel kernel, unsigned long& index,
                    std::uint64_t steps, bool ends) {
  const Walk walk = walk_of(way);
  const std::uint64_t start = start_cycles();
  index = kernel(walk, index, steps);
  if (ends) fence(static_cast<Fence>(way.end_fence));
  return stop_cycles() - start;
}

template <typename State>
State& state_of(nearfar_loader& loader) {
  static_assert(sizeof(State) <= sizeof loader.state && alignof(State) <= alignof(unsigned long));
  return *std::launder(reinterpret_cast<State*>(loader.state));
}

/// Accesses whenever something is due, until `cycles` have passed.
template <typename State, typename Access>
void run_for(std::uint64_t cycles, const State& state, Access access) {
  const std::uint64_t start = cycles_now();
  do {
    if (state.due()) {
      access();
    } else {
      relax();
    }
  } while (cycles_now() - start < cycles);
}

}  // namespace

unsigned long nearfar_walk(const nearfar_way* way, unsigned long* index, unsigned long steps,
                           int ends) {
  return timed(*way, kernel_of(*way), *index, steps, ends != 0);
}

unsigned long nearfar_walk_back(const nearfar_way* way, unsigned long* index, unsigned long steps,
                                int ends) {
  return timed(*way, back_kernel(), *index, steps, ends != 0);
}

unsigned long nearfar_walk_regions(const nearfar_way* way, unsigned long blocks,
                                   unsigned long count, unsigned long apart) {
  Walk walk = walk_of(*way);
  const WalkKernel kernel = kernel_of(*way);
  const WalkKernel back = back_kernel();
  const auto end = static_cast<Fence>(way->end_fence);
  // Where one region is walked again and again and nothing happens at its end, the rounds are one.
  const bool endless = apart == 0 && end == Fence::none && way->read_back == 0;
  const std::uint64_t start = start_cycles();
  if (endless) {
    kernel(walk, 0, count * blocks);
  } else {
    for (; count != 0; --count) {
      kernel(walk, 0, blocks);
      fence(end);
      if (way->read_back != 0) {
        fence(Fence::mfence);
        back(walk, 0, blocks);
        fence(end);
      }
      walk.blocks.base += apart;
    }
  }
  return stop_cycles() - start;
}

unsigned long nearfar_access(nearfar_accesses* asked, unsigned long count) {
  const Accesses accesses{.base = static_cast<std::byte*>(asked->base),
                          .area = asked->area,
                          .access = asked->access,
                          .stride = asked->stride,
                          .reads_percent = asked->reads_percent,
                          .fence_every = asked->fence_every,
                          .fence = static_cast<Fence>(asked->fence),
                          .value = static_cast<const std::byte*>(asked->value)};
  AccessState state{
      .done = asked->done, .random = asked->random, .since_fence = asked->since_fence};
  const AccessKernel kernel = access_kernel(static_cast<Op>(asked->op), width());
  const std::uint64_t start = start_cycles();
  kernel(accesses, state, count);
  const std::uint64_t cycles = stop_cycles() - start;
  asked->done = state.done;
  asked->random = state.random;
  asked->since_fence = state.since_fence;
  return cycles;
}

unsigned long nearfar_write(void* at, unsigned long bytes, unsigned long word, int op,
                            int fence_kind) {
  const StoreKernel store = store_kernel(static_cast<Op>(op), width());
  const std::uint64_t start = start_cycles();
  store(static_cast<std::byte*>(at), bytes, word);
  fence(static_cast<Fence>(fence_kind));
  return stop_cycles() - start;
}

void nearfar_fill(void* at, unsigned long bytes, const void* value) {
  fill_with(static_cast<std::byte*>(at), bytes, static_cast<const std::byte*>(value), width());
}

unsigned long nearfar_follow_words(void** at, unsigned long steps, int changes) {
  auto* const from = static_cast<std::byte*>(*at);
  const std::uint64_t start = start_cycles();
  std::byte* const to = changes != 0 ? follow_changing(from, steps) : follow(from, steps);
  const std::uint64_t cycles = stop_cycles() - start;
  *at = to;
  return cycles;
}

unsigned long nearfar_drop_lines(void* base, unsigned long lines, int changes) {
  auto* const first = static_cast<std::byte*>(base);
  for (unsigned long i = 0; i < lines; ++i) {
    if (changes != 0) {
      change_line(first + i * line_bytes);
    } else {
      load_word(first + i * line_bytes);
    }
  }
  fence(Fence::mfence);
  const std::uint64_t start = start_cycles();
  for (unsigned long i = 0; i < lines; ++i) clflush(first + i * line_bytes);
  fence(Fence::mfence);
  return stop_cycles() - start;
}

void nearfar_make_generator(nearfar_loader* loader, void* base, unsigned long area,
                            unsigned int stores, unsigned int accesses, int op,
                            unsigned long pause_1024) {
  Load load{.area = area,
            .stores = stores,
            .accesses = accesses,
            .non_temporal = static_cast<Op>(op) == Op::nt_store};
  if (pause_1024 != 0) {
    // Looking at the clock costs some of it, so that bursts are not shorter than this.
    constexpr std::uint64_t burst_cycles = 256;
    load.burst = std::clamp<std::uint64_t>(burst_cycles * 1024 / pause_1024, 1, load.burst);
    load.span = pause_1024 * load.burst / 1024;
  }
  *loader = {};
  loader->generates = 1;
  ::new (loader->state) Generator(static_cast<std::byte*>(base), load);
}

void nearfar_make_disturber(nearfar_loader* loader, void* base, unsigned long area, int chases,
                            int op, unsigned long pause_1024, unsigned long seed) {
  const Disturbing what{.chases = chases != 0,
                        .op = static_cast<Op>(op),
                        .width = width(),
                        .delay = pause_1024 / 1024};
  *loader = {};
  ::new (loader->state) Disturber(static_cast<std::byte*>(base), area, what, seed);
}

unsigned long nearfar_load(nearfar_loader* loader, unsigned long cycles) {
  const std::uint64_t start = cycles_now();
  if (loader->generates != 0) {
    Generator& generator = state_of<Generator>(*loader);
    run_for(cycles, generator, [&] { generator.burst(width()); });
    loader->lines = generator.loaded() + generator.stored();
    loader->stored = generator.stored();
  } else {
    Disturber& disturber = state_of<Disturber>(*loader);
    constexpr std::uint64_t accesses_a_look = 64;
    const std::uint64_t count = disturber.pauses() ? 1 : accesses_a_look;
    run_for(cycles, disturber, [&] { disturber.access(count); });
    loader->lines = disturber.done();
  }
  return cycles_now() - start;
}

unsigned long nearfar_time_nothing() {
  const std::uint64_t start = start_cycles();
  return stop_cycles() - start;
}

void nearfar_random_cycle(unsigned int* next, unsigned long from, unsigned long down_to,
                          unsigned long* random) {
  static_assert(sizeof(Rng) == sizeof *random);
  Rng rng(*random);
  for (unsigned long i = from; i-- > down_to;) {
    const std::uint64_t other = rng.below(i);
    const unsigned int kept = next[i];
    next[i] = next[other];
    next[other] = kept;
  }
  *random = std::bit_cast<unsigned long>(rng);
}
