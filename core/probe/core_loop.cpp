#include "probe/core_loop.h"

#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/rng.h"

namespace nearfar::probe {
namespace {

// NOLINTBEGIN(misc-const-correctness): clang-tidy does not see that assembly writes to variables.

/// What the loops work on.
struct Work {
  std::byte* base = nullptr;
  std::uint64_t lines = 0;
  std::vector<std::byte*> at;         ///< where the chains have come to
  std::vector<std::uint8_t> choices;  ///< of the random branches, a power of two of them
  std::uint64_t place = 0;            ///< among the choices or the lines
};

using Loop = void (*)(Work& work, std::uint64_t rounds);

/// Instructions of the plain loops between two branches: enough that the branch costs nothing.
constexpr std::uint64_t unrolled = 64;

/// What is added lies in a register. Intel's cores from Golden Cove on add small constants while
/// they rename registers, several in a cycle even where each waits for the one before (uops.info,
/// ADD (R64, I8) on Alder Lake P), so that such additions would not be executed.
constexpr std::uint64_t added = 1;

void add_chain(Work& /*work*/, std::uint64_t rounds) {
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < rounds; i += unrolled) {
    asm volatile(".rept 64\n\t add %1, %0\n\t .endr" : "+r"(value) : "r"(added));
  }
}

void multiply_chain(Work& /*work*/, std::uint64_t rounds) {
  std::uint64_t value = 3;
  for (std::uint64_t i = 0; i < rounds; i += unrolled) {
    asm volatile(".rept 64\n\t imul %0, %0\n\t .endr" : "+r"(value));
  }
}

void adds(Work& /*work*/, std::uint64_t rounds) {
  std::array<std::uint64_t, 8> v{};
  for (std::uint64_t i = 0; i < rounds; i += unrolled) {
    asm volatile(
        ".rept 8\n\t add %8, %0\n\t add %8, %1\n\t add %8, %2\n\t add %8, %3\n\t"
        "add %8, %4\n\t add %8, %5\n\t add %8, %6\n\t add %8, %7\n\t .endr"
        : "+r"(v[0]), "+r"(v[1]), "+r"(v[2]), "+r"(v[3]), "+r"(v[4]), "+r"(v[5]), "+r"(v[6]),
          "+r"(v[7])
        : "r"(added));
  }
}

void multiplies(Work& /*work*/, std::uint64_t rounds) {
  std::array<std::uint64_t, 8> v{};
  for (std::uint64_t i = 0; i < rounds; i += unrolled) {
    asm volatile(
        ".rept 8\n\t imul %0, %0\n\t imul %1, %1\n\t imul %2, %2\n\t imul %3, %3\n\t"
        "imul %4, %4\n\t imul %5, %5\n\t imul %6, %6\n\t imul %7, %7\n\t .endr"
        : "+r"(v[0]), "+r"(v[1]), "+r"(v[2]), "+r"(v[3]), "+r"(v[4]), "+r"(v[5]), "+r"(v[6]),
          "+r"(v[7]));
  }
}

void loads(Work& work, std::uint64_t rounds) {
  std::array<std::uint64_t, 4> v{};
  for (std::uint64_t i = 0; i < rounds; i += unrolled) {
    asm volatile(
        ".rept 16\n\t mov (%4), %0\n\t mov 8(%4), %1\n\t mov 16(%4), %2\n\t mov 24(%4), %3\n\t"
        ".endr"
        : "=&r"(v[0]), "=&r"(v[1]), "=&r"(v[2]), "=&r"(v[3])
        : "r"(work.base)
        : "memory");
  }
}

/// Jumps over one instruction or not, as the choices say.
void branches(Work& work, std::uint64_t rounds) {
  const std::uint64_t mask = work.choices.size() - 1;
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint8_t choice = work.choices[work.place++ & mask];
    asm volatile("test %1, %1\n\t jz 1f\n\t add $1, %0\n\t 1:" : "+r"(taken) : "q"(choice) : "cc");
  }
}

template <std::uint64_t between>
void nops(Work& work, std::uint64_t rounds) {
  std::byte* first = work.at[0];
  std::byte* second = work.at[1];
  for (std::uint64_t i = 0; i < rounds; ++i) {
    asm volatile(
        "mov (%0), %0\n\t .rept %c2\n\t nop\n\t .endr\n\t mov (%1), %1\n\t"
        ".rept %c2\n\t nop\n\t .endr"
        : "+r"(first), "+r"(second)
        : "i"(between)
        : "memory");
  }
  work.at = {first, second};
}

/// What is stored is known at once, so that the stores wait for nothing but their turn.
template <std::uint64_t between>
void stores(Work& work, std::uint64_t rounds) {
  std::byte* first = work.at[0];
  std::byte* second = work.at[1];
  std::uint64_t cell = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    asm volatile(
        "mov (%0), %0\n\t .rept %c4\n\t mov %3, %2\n\t .endr\n\t mov (%1), %1\n\t"
        ".rept %c4\n\t mov %3, %2\n\t .endr"
        : "+r"(first), "+r"(second), "=m"(cell)
        : "r"(rounds), "i"(between)
        : "memory");
  }
  work.at = {first, second};
}

void chains(Work& work, std::uint64_t rounds) {
  std::byte** const at = work.at.data();
  const std::size_t count = work.at.size();
  for (std::uint64_t i = 0; i < rounds; ++i) {
    for (std::size_t chain = 0; chain < count; ++chain) {
      std::byte* here = at[chain];
      asm volatile("mov (%0), %0" : "+r"(here) : : "memory");
      at[chain] = here;
    }
  }
}

void in_order(Work& work, std::uint64_t rounds) {
  std::uint64_t line = work.place;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::uint64_t word = 0;
    asm volatile("mov (%1), %0" : "=r"(word) : "r"(work.base + line * line_bytes) : "memory");
    if (++line == work.lines) line = 0;
  }
  work.place = line;
}

// NOLINTEND(misc-const-correctness)

constexpr std::size_t betweens = most_between / between_step + 1;

template <std::size_t... step>
std::array<Loop, betweens> with_nops(std::index_sequence<step...> /*steps*/) {
  return {&nops<step * between_step>...};
}

template <std::size_t... step>
std::array<Loop, betweens> with_stores(std::index_sequence<step...> /*steps*/) {
  return {&stores<step * between_step>...};
}

const std::map<std::string, Loop>& plain_loops() {
  static const std::map<std::string, Loop> loops = {{"add_chain", add_chain},
                                                    {"multiply_chain", multiply_chain},
                                                    {"adds", adds},
                                                    {"multiplies", multiplies},
                                                    {"loads", loads},
                                                    {"steady_branches", branches},
                                                    {"random_branches", branches},
                                                    {"chains", chains},
                                                    {"lines", in_order}};
  return loops;
}

Loop loop_of(const CoreLoopRequest& request) {
  if (request.name == "nops" || request.name == "stores") {
    if (request.count > most_between || request.count % between_step != 0) {
      throw InputError("count: found " + std::to_string(request.count) +
                       ", expected a multiple of " + std::to_string(between_step) + " up to " +
                       std::to_string(most_between));
    }
    static const auto steps = std::make_index_sequence<betweens>{};
    const std::array<Loop, betweens> table =
        request.name == "nops" ? with_nops(steps) : with_stores(steps);
    return table[request.count / between_step];
  }
  const auto found = plain_loops().find(request.name);
  if (found == plain_loops().end()) {
    throw InputError("name: found core loop '" + request.name +
                     "', expected one that core/probe/core_loop.h lists");
  }
  if (request.name == "chains" && (request.count == 0 || request.count > most_chains)) {
    throw InputError("count: found " + std::to_string(request.count) + " chains, expected 1 to " +
                     std::to_string(most_chains));
  }
  return found->second;
}

/// Chains that share one cycle through all lines, from lines of it that the seed draws: what an
/// earlier loop has brought into the caches is rarely on their way.
void start_chains(Work& work, std::uint64_t count, const CoreLoopRequest& request) {
  constexpr std::uint64_t order = 1;
  if (!request.linked) link({.base = work.base}, random_cycle(work.lines, order));
  Rng rng(request.seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    work.at.push_back(work.base + rng.below(work.lines) * line_bytes);
  }
}

Work work_of(const Memory& memory, const CoreLoopRequest& request) {
  Work work;
  work.base = memory.base();
  work.lines = memory.size() / line_bytes;
  if (request.name == "random_branches" || request.name == "steady_branches") {
    // More of them than a predictor learns by heart.
    constexpr std::size_t choices = std::size_t{1} << 18;
    Rng rng(request.seed);
    const bool random = request.name == "random_branches";
    for (std::size_t i = 0; i < choices; ++i) {
      work.choices.push_back(random ? static_cast<std::uint8_t>(rng.below(2)) : std::uint8_t{0});
    }
  }
  const bool pair = request.name == "nops" || request.name == "stores";
  if (pair) start_chains(work, 2, request);
  if (request.name == "chains") start_chains(work, request.count, request);
  return work;
}

}  // namespace

Timings core_loop(const Memory& memory, const CoreLoopRequest& request, const Poll& poll) {
  const Loop loop = loop_of(request);
  memory.check_holds(most_chains * line_bytes);
  Timings timings;
  timings.threads.resize(1);
  timings.disturbance = run_team(
      {request.cpu},
      [&](const Member& member) {
        const Clock& clock = Clock::host();
        Work work = work_of(memory, request);
        ChunkSize size(std::uint64_t{1} << 40, request.chunk_ns);
        // The first chunk only finds out how long a round takes.
        while (timings.threads[0].size() < request.chunks && member.carry_on()) {
          const std::uint64_t rounds = (size.units() + unrolled - 1) / unrolled * unrolled;
          const std::uint64_t start = start_cycles();
          loop(work, rounds);
          const double ns = clock.ns(stop_cycles() - start);
          if (size.settled()) timings.threads[0].push_back({ns, rounds, 0});
          size.learn(ns, rounds);
        }
      },
      poll);
  return timings;
}

}  // namespace nearfar::probe
