#include "probe/kernels.h"

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

constexpr bool loads(Op op) {
  return op == Op::load || op == Op::nt_load || op == Op::load_clflushopt;
}

/// Drops a line and its neighbour, which the adjacent-line prefetcher fetches with it: what
/// the next walk finds, no prefetcher has left there.
inline void drop_pair(const std::byte* line) {
  clflushopt(line);
  const auto address = reinterpret_cast<std::uintptr_t>(line);
  clflushopt((address & line_bytes) == 0 ? line + line_bytes : line - line_bytes);
}

/// Loads one line of a chase; answers its first eight bytes.
template <Op O, Width W>
std::uint64_t visit(const std::byte* line) {
  if constexpr (O == Op::nt_load) return nt_load_line<W>(line);
  return load_word(line);
}

/// Stores one line.
template <Op O, Width W>
void fill(std::byte* line, std::uint64_t word) {
  if constexpr (O == Op::nt_store) {
    nt_store_line<W>(line, word);
  } else {
    store_line<W>(line, word);
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
    std::byte* const block = blocks.at(index);
    const std::uint64_t next = walk.next[index];
    const auto successor = reinterpret_cast<std::uint64_t>(blocks.at(next));
    std::uint64_t loaded = 0;
    for (Bytes at = 0; at < blocks.block; at += line_bytes) {
      if constexpr (loads(O)) {
        loaded = visit<O, W>(block + at);
      } else {
        fill<O, W>(block + at, successor);
      }
    }
    if constexpr (O == Op::load_clflushopt) {
      for (Bytes at = 0; at < blocks.block; at += line_bytes) drop_pair(block + at);
    }
    index = loads(O) ? after(next, loaded) : next;
    fence(walk.fence);
  }
  leave_vectors<W>();
  return index;
}

template <Op O, Width W>
std::uint64_t walk_lines(const Walk& walk, std::uint64_t index, std::uint64_t steps) {
  const Blocks& blocks = walk.blocks;
  const std::byte* block = blocks.at(index);
  const auto index_of = [&](const std::byte* at) {
    return static_cast<std::uint64_t>(at - blocks.base) / blocks.stride;
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
    if constexpr (O == Op::load_clflushopt) {
      for (Bytes at = 0; at < blocks.block; at += line_bytes) drop_pair(block + at);
    }
    // The address came out of the line, as a number in a register.
    block = reinterpret_cast<const std::byte*>(successor);  // NOLINT(performance-no-int-to-ptr)
    fence(walk.fence);
  }
  leave_vectors<W>();
  return index_of(block);
}

template <Op O, Width W>
void access_line(std::byte* line, std::uint64_t word) {
  if constexpr (O == Op::nt_load) {
    nt_load_line<W>(line);
  } else if constexpr (loads(O)) {
    load_line<W>(line);
  } else {
    fill<O, W>(line, word);
  }
  if constexpr (O == Op::load_clflushopt) drop_pair(line);
}

template <Op O, Width W>
void run_accesses(const Accesses& accesses, AccessState& state, std::uint64_t count) {
  const bool mixed = !loads(O) && accesses.reads_percent > 0;
  const std::uint64_t places = accesses.area / (accesses.stride == 0 ? accesses.access  //
                                                                     : accesses.stride);
  std::uint64_t place = state.done % places;
  Rng rng(state.random);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::byte* start = accesses.base;
    if (accesses.stride == 0) {
      start += rng.below(places) * accesses.access;
    } else {
      start += place * accesses.stride;
      if (++place == places) place = 0;
    }
    const bool reads = mixed && rng.below(100) < accesses.reads_percent;
    for (Bytes at = 0; at < accesses.access; at += line_bytes) {
      if (reads) {
        load_line<W>(start + at);
      } else {
        access_line<O, W>(start + at, i);
      }
    }
    state.since_fence += accesses.access;
    if (accesses.fence_every != 0 && state.since_fence >= accesses.fence_every) {
      state.since_fence = 0;
      fence(Fence::sfence);
    }
  }
  leave_vectors<W>();
  state.done += count;
  state.random = rng.next();
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
      if constexpr (loads(O)) {
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

const std::byte* follow(const std::byte* at, std::uint64_t steps) {
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

}  // namespace nearfar::probe
