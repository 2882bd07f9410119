// What a machine is told of memory that a program touched while nothing was simulated.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/page_set.h"
#include "frontend/program.h"
#include "frontend/qemu/touched_pages.h"
#include "machine_fixture.h"

namespace nearfar::frontend {
namespace test_file {

constexpr Bytes page = 4096;
constexpr std::uint64_t base = std::uint64_t{1} << 40;

TEST(PageSet, APageIsNewOnceAndAgainAfterItWasRemoved) {
  PageSet set;
  EXPECT_TRUE(set.add(base));
  EXPECT_FALSE(set.add(base));
  EXPECT_TRUE(set.add(base + (600 * page)));
  set.remove(base, base + page);
  EXPECT_TRUE(set.add(base));
  EXPECT_FALSE(set.add(base + (600 * page)));
  set.remove(0, ~std::uint64_t{0});
  EXPECT_TRUE(set.add(base + (600 * page)));
}

TEST(TouchedPages, PagesThatWereWrittenAreTouchedAndTheOthersAreNot) {
  void* const memory =
      mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, 8 * page, MADV_NOHUGEPAGE);
  auto* const bytes = static_cast<volatile char*>(memory);
  bytes[2 * page] = 1;
  bytes[(5 * page) + 100] = 1;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  std::vector<std::uint64_t> found;
  qemu::each_touched_page(begin, begin + (8 * page),
                          [&](std::uint64_t at) { found.push_back((at - begin) / page); });
  EXPECT_EQ(found, (std::vector<std::uint64_t>{2, 5}));
  munmap(memory, 8 * page);
}

/// Lines that a program's loads of 16 pages found in L3, and that memory was asked for.
struct Found {
  std::uint64_t l3 = 0;
  std::uint64_t memory = 0;
};

Found loads_of(Program& program, Program::Thread thread, Bytes bytes) {
  sim::cpu::Instruction load;
  load.kind = sim::cpu::InstructionKind::load;
  const sim::cpu::Block block{.pc = 0x1000, .instructions = {load}};
  for (Bytes at = 0; at < bytes; at += line_bytes) {
    const sim::cpu::Access access{.address = base + at, .size = 8};
    program.run(thread, block, {&access, 1});
  }
  std::stringstream text;
  program.report(text);
  Found found;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("cache.l3.hits = ")) found.l3 = std::stoull(line.substr(16));
    if (line.starts_with("cache.misses = ")) found.memory = std::stoull(line.substr(15));
  }
  return found;
}

TEST(CatchUp, LinesOfPagesThatWereTouchedMeanwhileLieInL3) {
  const auto found = [](bool catches_up) {
    Program program(sim::testing::quiet_optane(), {});
    const auto thread = program.thread_started();
    program.mapped(Address(base), 64 * page, Mapping::memory);
    loads_of(program, thread, line_bytes);  // only mappings that the program uses are looked at
    if (catches_up) {
      program.catch_up([](std::uint64_t begin, std::uint64_t end, const auto& take) {
        for (std::uint64_t at = begin; at < end && at < begin + (16 * page); at += page) take(at);
      });
    }
    return loads_of(program, thread, 16 * page);
  };
  const Found cold = found(false);
  const Found warm = found(true);
  EXPECT_EQ(cold.l3, 0u);
  EXPECT_LT(warm.memory, 64u);  // the page tables' own, and what was prefetched beyond the pages
  EXPECT_GT(cold.memory, 16 * page / line_bytes / 2);
}

TEST(CatchUp, MappingsThatTheProgramHasNotUsedAreNotLookedAt) {
  Program program(sim::testing::quiet_optane(), {});
  program.thread_started();
  program.mapped(Address(base), 64 * page, Mapping::memory);
  program.catch_up([](std::uint64_t, std::uint64_t, const auto&) { FAIL(); });
}

}  // namespace test_file
}  // namespace nearfar::frontend
