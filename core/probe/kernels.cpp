#include "probe/kernels.h"

#include <algorithm>

#include "base/rng.h"
#include "probe/instructions.h"

namespace nearfar::probe {
namespace {

/// Calls `choose.operator()<Width>()` with the width as a constant.
template <typename Choose>
auto with_width(Width width, Choose choose) {
  switch (width) {
    case Width::avx512:
      return choose.template operator()<Width::avx512>();
    case Width::avx2:
      return choose.template operator()<Width::avx2>();
    case Width::sse2:
      break;
  }
  return choose.template operator()<Width::sse2>();
}

/// Calls `choose.operator()<Op>()` with the operation as a constant.
template <typename Choose>
auto with_op(Op op, Choose choose) {
  switch (op) {
    case Op::nt_load:
      return choose.template operator()<Op::nt_load>();
    case Op::load_clflushopt:
      return choose.template operator()<Op::load_clflushopt>();
    case Op::load_store:
      return choose.template operator()<Op::load_store>();
    case Op::store:
      return choose.template operator()<Op::store>();
    case Op::nt_store:
      return choose.template operator()<Op::nt_store>();
    case Op::store_clwb:
      return choose.template operator()<Op::store_clwb>();
    case Op::store_clflushopt:
      return choose.template operator()<Op::store_clflushopt>();
    case Op::load:
      break;
  }
  return choose.template operator()<Op::load>();
}

constexpr bool stores(Op op) { return op == Op::load_store || !is_load(op); }

/// Drops a line and its neighbour, which the adjacent-line prefetcher fetches with it: what
/// the next walk finds, no prefetcher has left there.
inline void drop_pair(const std::byte* line) {
  clflushopt(line);
  const auto address = reinterpret_cast<std::uintptr_t>(line);
  clflushopt((address & line_bytes) == 0 ? line + line_bytes : line - line_bytes);
}

inline void drop_block(const std::byte* block, Bytes bytes) {
  for (Bytes at = 0; at < bytes; at += line_bytes) drop_pair(block + at);
}

/// Loads one line of a chase; answers its first eight bytes.
template <Op O, Width W>
std::uint64_t visit(std::byte* line) {
  if constexpr (O == Op::nt_load) return nt_load_line<W>(line);
  if constexpr (O == Op::load_store) return change_line(line);
  return load_word(line);
}

/// Stores one line, of a word again and again or as the line that `source` points to.
template <Op O, Width W, typename Source>
void fill(std::byte* line, Source source) {
  if constexpr (O == Op::nt_store) {
    nt_store_line<W>(line, source);
  } else {
    store_line<W>(line, source);
  }
  if constexpr (O == Op::store_clwb) clwb(line);
  if constexpr (O == Op::store_clflushopt) clflushopt(line);
}

/// As `value`, but known only when `loaded` is: makes the next access wait for this one.
inline std::uint64_t after(std::uint64_t value, std::uint64_t loaded) {
  asm volatile("andq $0, %0" : "+r"(loaded) : : "cc");
  return value + loaded;
}

template <Op O, Width W>
std::uint64_t walk_table(const Walk& walk, std::uint64_t index, std::uint64_t steps) {
  const Blocks& blocks = walk.blocks;
  for (; steps != 0; --steps) {
    const std::uint64_t next = walk.next[index];
    if constexpr (is_load(O)) {
      std::byte* const block = blocks.at(index);
      std::uint64_t loaded = 0;
      for (Bytes at = 0; at < blocks.block; at += line_bytes) loaded = visit<O, W>(block + at);
      if constexpr (O == Op::load_clflushopt) drop_block(block, blocks.block);
      index = after(next, loaded);
    } else {
      std::byte* const block = blocks.at(index);
      const auto successor = reinterpret_cast<std::uint64_t>(blocks.at(next));
      for (Bytes at = 0; at < blocks.block; at += line_bytes) fill<O, W>(block + at, successor);
      index = next;
    }
    fence(walk.fence);
  }
  leave_vectors<W>();
  return index;
}

template <Op O, Width W>
std::uint64_t walk_lines(const Walk& walk, std::uint64_t index, std::uint64_t steps) {
  const Blocks& blocks = walk.blocks;
  std::byte* block = blocks.at(index);
  const auto base = reinterpret_cast<std::uintptr_t>(blocks.base);
  const auto index_of = [&](const std::byte* at) {
    return (reinterpret_cast<std::uintptr_t>(at) - base) / blocks.stride;
  };
  if constexpr (O == Op::load) {
    // Nothing but the loads, so that an L1 cache's few cycles show as they are.
    const bool plain = blocks.block == line_bytes && walk.fence == Fence::none;
    if (plain) return index_of(follow(block, steps));
  }
  for (; steps != 0; --steps) {
    std::uint64_t successor = 0;
    for (Bytes at = 0; at < blocks.block; at += line_bytes) {
      successor = visit<O, W>(block + at);
    }
    if constexpr (O == Op::load_clflushopt) drop_block(block, blocks.block);
    // The address came out of the line, as a number in a register.
    block = reinterpret_cast<std::byte*>(successor);  // NOLINT(performance-no-int-to-ptr)
    fence(walk.fence);
  }
  leave_vectors<W>();
  return index_of(block);
}

template <Op O, Width W, typename Source>
void access_line(std::byte* line, Source source) {
  if constexpr (O == Op::nt_load) {
    nt_load_line<W>(line);
  } else if constexpr (is_load(O)) {
    load_line<W>(line);
    if constexpr (O == Op::load_store) store_line<W>(line, source);
  } else {
    fill<O, W>(line, source);
  }
  if constexpr (O == Op::load_clflushopt) drop_pair(line);
}

/// One access of `bytes`.
template <Op O, Width W, typename Source>
void access_bytes(std::byte* start, Bytes bytes, Source source) {
  for (std::byte* line = start; line != start + bytes; line += line_bytes) {
    access_line<O, W>(line, source);
  }
}

/// `count` accesses that follow one another without a gap: nothing but the lines, so that
/// nothing but the memory limits them.
template <Op O, Width W, typename Source>
void run_sequential(const Accesses& accesses, AccessState& state, std::uint64_t count,
                    Source source) {
  const Bytes area = accesses.area / accesses.access * accesses.access;
  Bytes at = state.done * accesses.access % area;
  for (Bytes left = count * accesses.access; left != 0;) {
    const Bytes run = std::min(left, area - at);
    access_bytes<O, W>(accesses.base + at, run, source);
    left -= run;
    at = at + run == area ? 0 : at + run;
  }
  state.done += count;
}

/// The parameters are copied first: after every instruction of ours the compiler has to assume
/// that memory has changed, and would read them again for each line.
template <Op O, Width W, typename Source>
void run_scattered(const Accesses& accesses, AccessState& state, std::uint64_t count,
                   Source source) {
  const Accesses own = accesses;
  const bool random = own.stride == 0;
  const Bytes step = std::max(random ? own.access : own.stride, line_bytes);
  const std::uint64_t places = std::max<std::uint64_t>(own.area / step, 1);
  const std::byte* const end = own.base + places * step;
  std::byte* next = own.base + state.done % places * step;
  Bytes since_fence = state.since_fence;
  Rng rng(state.random);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (random) {
      next = own.base + rng.below(places) * step;
    } else if (next == end) {
      next = own.base;
    }
    if (stores(O) && own.reads_percent > 0 && rng.below(100) < own.reads_percent) {
      access_bytes<Op::load, W>(next, own.access, source);
    } else {
      access_bytes<O, W>(next, own.access, source);
    }
    next += step;
    if (own.fence_every == 0) continue;
    since_fence += own.access;
    if (since_fence >= own.fence_every) {
      since_fence = 0;
      fence(own.fence);
    }
  }
  state.done += count;
  state.random = rng.next();
  state.since_fence = since_fence;
}

template <Op O, Width W, typename Source>
void run_from(const Accesses& accesses, AccessState& state, std::uint64_t count, Source source) {
  const bool mixed = stores(O) && accesses.reads_percent > 0;
  if (accesses.stride == accesses.access && !mixed && accesses.fence_every == 0) {
    run_sequential<O, W>(accesses, state, count, source);
  } else {
    run_scattered<O, W>(accesses, state, count, source);
  }
  leave_vectors<W>();
}

template <Op O, Width W>
void run_accesses(const Accesses& accesses, AccessState& state, std::uint64_t count) {
  if constexpr (stores(O)) {
    if (accesses.value != nullptr) {
      run_from<O, W>(accesses, state, count, accesses.value);
      return;
    }
  }
  // Another word than last time, as long as it takes to come round: nothing is written twice.
  run_from<O, W>(accesses, state, count, state.done);
}

template <Op O, Width W>
void store_bytes(std::byte* at, Bytes bytes, std::uint64_t word) {
  for (Bytes offset = 0; offset < bytes; offset += line_bytes) {
    fill<O, W>(at + offset, word);
  }
}

}  // namespace

WalkKernel walk_kernel(Op op, Successor successor, Width width) {
  const bool in_lines = successor == Successor::lines && is_load(op);
  return with_op(op, [&]<Op O>() {
    return with_width(width, [&]<Width W>() -> WalkKernel {
      if constexpr (is_load(O)) {
        if (in_lines) return walk_lines<O, W>;
      }
      return walk_table<O, W>;
    });
  });
}

AccessKernel access_kernel(Op op, Width width) {
  return with_op(op, [&]<Op O>() {
    return with_width(width, []<Width W>() -> AccessKernel { return run_accesses<O, W>; });
  });
}

StoreKernel store_kernel(Op op, Width width) {
  return with_op(op, [&]<Op O>() {
    return with_width(width, []<Width W>() -> StoreKernel { return store_bytes<O, W>; });
  });
}

void fill_with(std::byte* at, Bytes bytes, const std::byte* value, Width width) {
  with_width(width, [&]<Width W>() {
    access_bytes<Op::store, W>(at, bytes, value);
    leave_vectors<W>();
  });
}

std::byte* follow(std::byte* at, std::uint64_t steps) {
  for (; steps >= 8; steps -= 8) {
    asm volatile(
        "movq (%0), %0\n\t"
        "movq (%0), %0\n\t"
        "movq (%0), %0\n\t"
        "movq (%0), %0\n\t"
        "movq (%0), %0\n\t"
        "movq (%0), %0\n\t"
        "movq (%0), %0\n\t"
        "movq (%0), %0"
        : "+r"(at)
        :
        : "memory");
  }
  for (; steps != 0; --steps) asm volatile("movq (%0), %0" : "+r"(at) : : "memory");
  return at;
}

std::byte* follow_changing(std::byte* at, std::uint64_t steps) {
  for (; steps != 0; --steps) {
    // The address came out of the line, as a number in a register.
    at = reinterpret_cast<std::byte*>(change_line(at));  // NOLINT(performance-no-int-to-ptr)
  }
  return at;
}

}  // namespace nearfar::probe
