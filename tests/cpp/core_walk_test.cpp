#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "core_fixture.h"

/// Page walks that read memory, of the cores that execute programs.
namespace nearfar::sim::cpu {
namespace test_file {

using testing::Code;
using testing::CoreMachine;
using testing::mov_load;

/// A machine of one kind of core whose tables lie in memory.
struct Walker : CoreMachine {
  explicit Walker(CoreConfig::Kind kind) : CoreMachine(kind) {
    pages.huge = false;
    config.caches.tables = {
        .base = Address(Bytes{1} << 29), .size = Bytes{1} << 24, .apart = Tick(0)};
  }
};

TEST(PageWalk, APageWalkHoldsUpALoadOfAnyCoreAndIsCountedAsTranslation) {
  for (const auto kind : {CoreConfig::Kind::window, CoreConfig::Kind::simple}) {
    Walker machine(kind);
    machine.cores().add();
    Code code;
    code.add(mov_load({{}, {1}})).access(4096, false);
    machine.repeat(code, 1);
    machine.finish();
    const CoreCounts& counts = machine.counts();
    const auto part = [&](Cause cause) {
      return coarse(counts.stack[static_cast<std::size_t>(cause)]);
    };
    EXPECT_NEAR(static_cast<double>(part(Cause::tlb).ps()),
                static_cast<double>(2 * machine.miss().ps()), 1000);
    EXPECT_NEAR(static_cast<double>(part(Cause::memory).ps()),
                static_cast<double>(machine.miss().ps()), 1000);
    EXPECT_EQ(machine.device.entries().size(), 3u);
  }
}

TEST(PageWalk, APageWalkBoundsHowManyPagesACoreReachesAtOnce) {
  const auto time = [](std::uint32_t walkers) {
    Walker machine(CoreConfig::Kind::window);
    machine.config.caches.tlb.walkers = walkers;
    machine.cores().add();
    for (std::uint64_t i = 0; i < 8; ++i) {
      Code code;
      code.add(mov_load({{}, {static_cast<int>(i)}})).access(i * 8 * Tlb::huge_page, false);
      machine.repeat(code, 1);
    }
    return std::pair(machine.finish(), machine.miss());
  };
  const auto [two, miss] = time(2);
  EXPECT_NEAR(static_cast<double>(two.ps()), static_cast<double>((4 * 2 + 1) * miss.ps()), 5000);
  const auto [eight, same] = time(8);
  EXPECT_NEAR(static_cast<double>(eight.ps()), static_cast<double>(3 * same.ps()), 5000);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu
