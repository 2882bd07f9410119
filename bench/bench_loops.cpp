// bench_loops OP MEBIBYTES THREADS: the bandwidth of plain loops as STREAM has them, written
// without anything of nearfar's, to compare nearfar's own figures with. Prints GB/s over all
// threads: by the median of short blocks, and by the fastest whole pass, as STREAM reports it.

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t block_words = (256u << 10) / sizeof(std::uint64_t);
constexpr int passes = 10;

using Words = std::vector<std::uint64_t>;

// As wide as the processor allows, which is how STREAM is compiled for a machine.
#define NEARFAR_WIDEST __attribute__((target_clones("default", "avx2", "avx512f")))

NEARFAR_WIDEST std::uint64_t sum(const std::uint64_t* words) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < block_words; ++i) total += words[i];
  return total;
}

NEARFAR_WIDEST void fill(std::uint64_t* words, std::uint64_t value) {
  for (std::size_t i = 0; i < block_words; ++i) words[i] = value;
}

__attribute__((target("avx512f"))) void fill_lines_past_the_caches(std::uint64_t* words,
                                                                   std::uint64_t value) {
  const __m512i line = _mm512_set1_epi64(static_cast<long long>(value));
  for (std::size_t i = 0; i < block_words; i += 8) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(words + i), line);
  }
}

void fill_past_the_caches(std::uint64_t* words, std::uint64_t value) {
  if (__builtin_cpu_supports("avx512f")) {
    fill_lines_past_the_caches(words, value);
    return;
  }
  const __m128i both = _mm_set1_epi64x(static_cast<long long>(value));
  for (std::size_t i = 0; i < block_words; i += 2) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(words + i), both);
  }
}

struct Rates {
  double median_block = 0;
  double best_pass = 0;
};

/// One thread's loops over its own array, in bytes a nanosecond.
Rates measure(const std::string& op, std::uint64_t* words, std::size_t count,
              std::atomic<int>& waiting) {
  using Clock = std::chrono::steady_clock;
  const auto ns = [](Clock::duration span) {
    return std::chrono::duration<double, std::nano>(span).count();
  };
  std::vector<double> blocks;
  double best = 0;
  volatile std::uint64_t sink = 0;
  for (waiting.fetch_sub(1); waiting.load() > 0;) {
  }
  for (int pass = 0; pass < passes; ++pass) {
    const auto begin = Clock::now();
    auto before = begin;
    for (std::size_t at = 0; at + block_words <= count; at += block_words) {
      if (op == "load") {
        sink = sink + sum(words + at);
      } else if (op == "store") {
        fill(words + at, at);
      } else {
        fill_past_the_caches(words + at, at);
      }
      const auto after = Clock::now();
      blocks.push_back(ns(after - before));
      before = after;
    }
    best = std::max(best, static_cast<double>(count * sizeof *words) / ns(before - begin));
  }
  const auto middle = blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2);
  std::nth_element(blocks.begin(), middle, blocks.end());
  return {static_cast<double>(block_words * sizeof *words) / *middle, best};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "bench_loops load|store|ntstore MEBIBYTES THREADS\n");
    return 2;
  }
  const std::string op = argv[1];
  const std::size_t count = std::strtoull(argv[2], nullptr, 10) * (1 << 20) / sizeof(std::uint64_t);
  const auto threads = static_cast<int>(std::strtol(argv[3], nullptr, 10));
  std::atomic<int> waiting{threads};
  std::vector<Words> arrays(static_cast<std::size_t>(threads), Words(count + 8));
  std::vector<Rates> rates(static_cast<std::size_t>(threads));
  {
    std::vector<std::jthread> team;
    team.reserve(rates.size());
    for (std::size_t thread = 0; thread < rates.size(); ++thread) {
      team.emplace_back([&, thread] {
        // Streaming stores write whole lines.
        const auto address = reinterpret_cast<std::uintptr_t>(arrays[thread].data());
        std::uint64_t* const aligned = arrays[thread].data() + (64 - address % 64) % 64 / 8;
        rates[thread] = measure(op, aligned, count, waiting);
      });
    }
  }
  Rates total;
  for (const Rates& one : rates) {
    total.median_block += one.median_block;
    total.best_pass += one.best_pass;
  }
  std::printf("%.3f %.3f\n", total.median_block, total.best_pass);
  return 0;
}
