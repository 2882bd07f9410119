#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "probe/isa.h"

/// The instructions under measurement, one function each. In assembly, because no compiler may
/// merge, move or drop them, and because the vector width is chosen when the program runs: the
/// rest of it is compiled for any x86-64.
namespace nearfar::probe {

// clang-tidy does not look into assembly: what it writes seems constant, pieces of it alike.
// NOLINTBEGIN(misc-const-correctness,bugprone-branch-clone)

/// The first eight bytes of a line, by an ordinary load.
inline std::uint64_t load_word(const std::byte* line) {
  std::uint64_t word = 0;
  asm volatile("movq (%1), %0" : "=r"(word) : "r"(line) : "memory");
  return word;
}

/// The same, and counts up the eight bytes behind them, so that the line is dirty.
inline std::uint64_t change_line(std::byte* line) {
  std::uint64_t word = 0;
  asm volatile(
      "movq (%1), %0\n\t"
      "incq 8(%1)"
      : "=&r"(word)
      : "r"(line)
      : "cc", "memory");
  return word;
}

/// A whole line by ordinary vector loads.
template <Width W>
void load_line(const std::byte* line) {
  if constexpr (W == Width::avx512) {
    asm volatile("vmovdqa64 (%0), %%zmm0" : : "r"(line) : "xmm0", "memory");
  } else if constexpr (W == Width::avx2) {
    asm volatile(
        "vmovdqa (%0), %%ymm0\n\t"
        "vmovdqa 32(%0), %%ymm1"
        :
        : "r"(line)
        : "xmm0", "xmm1", "memory");
  } else {
    asm volatile(
        "movdqa (%0), %%xmm0\n\t"
        "movdqa 16(%0), %%xmm1\n\t"
        "movdqa 32(%0), %%xmm2\n\t"
        "movdqa 48(%0), %%xmm3"
        :
        : "r"(line)
        : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
  }
}

/// A whole line by non-temporal loads; answers its first eight bytes. From write-back memory
/// the processor treats them as ordinary loads.
template <Width W>
std::uint64_t nt_load_line(const std::byte* line) {
  std::uint64_t word = 0;
  if constexpr (W == Width::avx512) {
    asm volatile(
        "vmovntdqa (%1), %%zmm0\n\t"
        "vmovq %%xmm0, %0"
        : "=r"(word)
        : "r"(line)
        : "xmm0", "memory");
  } else if constexpr (W == Width::avx2) {
    asm volatile(
        "vmovntdqa 32(%1), %%ymm1\n\t"
        "vmovntdqa (%1), %%ymm0\n\t"
        "vmovq %%xmm0, %0"
        : "=r"(word)
        : "r"(line)
        : "xmm0", "xmm1", "memory");
  } else {
    asm volatile(
        "movntdqa 16(%1), %%xmm1\n\t"
        "movntdqa 32(%1), %%xmm2\n\t"
        "movntdqa 48(%1), %%xmm3\n\t"
        "movntdqa (%1), %%xmm0\n\t"
        "movq %%xmm0, %0"
        : "=r"(word)
        : "r"(line)
        : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
  }
  return word;
}

// What a line is filled with, brought into registers: one word, again and again, or the line
// that a pointer leads to. Macros, because assembly can be put together by nothing else.
#define NEARFAR_WORD_512 "vpbroadcastq %1, %%zmm0\n\t"
#define NEARFAR_WORD_256            \
  "vmovq %1, %%xmm0\n\t"            \
  "vpbroadcastq %%xmm0, %%ymm0\n\t" \
  "vmovdqa %%ymm0, %%ymm1\n\t"
#define NEARFAR_WORD_128          \
  "movq %1, %%xmm0\n\t"           \
  "punpcklqdq %%xmm0, %%xmm0\n\t" \
  "movdqa %%xmm0, %%xmm1\n\t"     \
  "movdqa %%xmm0, %%xmm2\n\t"     \
  "movdqa %%xmm0, %%xmm3\n\t"
#define NEARFAR_LINE_512 "vmovdqa64 (%1), %%zmm0\n\t"
#define NEARFAR_LINE_256     \
  "vmovdqa (%1), %%ymm0\n\t" \
  "vmovdqa 32(%1), %%ymm1\n\t"
#define NEARFAR_LINE_128      \
  "movdqa (%1), %%xmm0\n\t"   \
  "movdqa 16(%1), %%xmm1\n\t" \
  "movdqa 32(%1), %%xmm2\n\t" \
  "movdqa 48(%1), %%xmm3\n\t"

// A function that fills a line: what with, and by which stores of each width.
#define NEARFAR_FILL(name, type, from, store_512, store_256, store_128)                   \
  template <Width W>                                                                      \
  void name(std::byte* line, type source) {                                               \
    if constexpr (W == Width::avx512) {                                                   \
      asm volatile(from##_512 store_512 " %%zmm0, (%0)"                                   \
                   :                                                                      \
                   : "r"(line), "r"(source)                                               \
                   : "xmm0", "memory");                                                   \
    } else if constexpr (W == Width::avx2) {                                              \
      asm volatile(from##_256 store_256 " %%ymm0, (%0)\n\t" store_256 " %%ymm1, 32(%0)"   \
                   :                                                                      \
                   : "r"(line), "r"(source)                                               \
                   : "xmm0", "xmm1", "memory");                                           \
    } else {                                                                              \
      asm volatile(from##_128 store_128 " %%xmm0, (%0)\n\t" store_128                     \
                                        " %%xmm1, 16(%0)\n\t" store_128                   \
                                        " %%xmm2, 32(%0)\n\t" store_128 " %%xmm3, 48(%0)" \
                   :                                                                      \
                   : "r"(line), "r"(source)                                               \
                   : "xmm0", "xmm1", "xmm2", "xmm3", "memory");                           \
    }                                                                                     \
  }

/// Fills a line with a word, or with another line, by ordinary vector stores.
NEARFAR_FILL(store_line, std::uint64_t, NEARFAR_WORD, "vmovdqa64", "vmovdqa", "movdqa")
NEARFAR_FILL(store_line, const std::byte*, NEARFAR_LINE, "vmovdqa64", "vmovdqa", "movdqa")

/// The same by non-temporal stores, which go round the caches.
NEARFAR_FILL(nt_store_line, std::uint64_t, NEARFAR_WORD, "vmovntdq", "vmovntdq", "movntdq")
NEARFAR_FILL(nt_store_line, const std::byte*, NEARFAR_LINE, "vmovntdq", "vmovntdq", "movntdq")

#undef NEARFAR_FILL
#undef NEARFAR_LINE_128
#undef NEARFAR_LINE_256
#undef NEARFAR_LINE_512
#undef NEARFAR_WORD_128
#undef NEARFAR_WORD_256
#undef NEARFAR_WORD_512

/// Writes a dirty line back and may keep it.
inline void clwb(std::byte* line) { asm volatile("clwb (%0)" : : "r"(line) : "memory"); }

/// Writes a dirty line back and drops it; ordered by fences alone.
inline void clflushopt(const std::byte* line) {
  asm volatile("clflushopt (%0)" : : "r"(line) : "memory");
}

/// As clflushopt, one after another; every x86-64 processor has it.
inline void clflush(const std::byte* line) {
  asm volatile("clflush (%0)" : : "r"(line) : "memory");
}

inline void fence(Fence kind) {
  switch (kind) {
    case Fence::none:
      break;
    case Fence::sfence:
      asm volatile("sfence" : : : "memory");
      break;
    case Fence::mfence:
      asm volatile("mfence" : : : "memory");
      break;
    case Fence::cpuid: {
      std::uint32_t leaf = 0;
      asm volatile("cpuid" : "+a"(leaf) : : "rbx", "rcx", "rdx", "memory");
      break;
    }
  }
}

/// Ends a run of wide instructions: without it narrow ones stall on the registers' upper halves.
template <Width W>
void leave_vectors() {
  if constexpr (W != Width::sse2) asm volatile("vzeroupper" : : : "memory");
}

// NOLINTEND(misc-const-correctness,bugprone-branch-clone)

/// Tells the processor that this is a waiting loop.
inline void relax() { asm volatile("pause" : : : "memory"); }

/// Drops [first, first + bytes) from every cache and waits until that is done.
inline void flush(const std::byte* first, Bytes bytes) {
  const bool optimised = Isa::host().clflushopt;
  for (Bytes at = 0; at < bytes; at += line_bytes) {
    if (optimised) {
      clflushopt(first + at);
    } else {
      clflush(first + at);
    }
  }
  fence(Fence::mfence);
}

}  // namespace nearfar::probe
