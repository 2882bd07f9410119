#include "frontend/guest_pages.h"

#include <cstdint>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "frontend/program.h"
#include "machine_fixture.h"
#include "near_fixture.h"
#include "sim/cpu/tlb.h"

/// A guest's virtual pages, the machine that it believes to have, and where that lies in memory.
namespace nearfar::frontend {
namespace test_file {

using sim::cpu::Access;
using sim::cpu::Block;
using sim::cpu::Instruction;
using sim::cpu::InstructionKind;
using sim::cpu::Tlb;

constexpr std::uint64_t upper = std::uint64_t{0xffff8} << 44;

struct Guest {
  Guest() : program(sim::testing::quiet_optane(), options()) {
    program.mapped(Address(0), Bytes{64} << 20, Mapping::memory);
    thread = program.thread_started();
    Instruction instruction;
    instruction.kind = InstructionKind::load;
    load.instructions.push_back(instruction);
  }
  static Program::Options options() {
    Program::Options made;
    made.whole_machine = true;
    return made;
  }
  void maps(std::uint64_t virtual_address, std::uint64_t physical_address) {
    program.guest_maps(thread, virtual_address >> 12, physical_address >> 12);
  }
  /// Each load ends before the next begins.
  void loads(std::uint64_t address) {
    const Access access{.address = address, .size = 8};
    program.run(thread, load, {&access, 1});
    program.now(thread);
  }
  /// A value of the report.
  std::uint64_t count(const std::string& name) {
    std::stringstream text;
    program.report(text);
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with(name + " = ")) return std::stoull(line.substr(name.size() + 3));
    }
    ADD_FAILURE() << name;
    return 0;
  }

  Block load{.pc = 0x1000, .instructions = {}};
  Program program;
  Program::Thread thread = 0;
};

TEST(GuestPages, TwoVirtualPagesOfOnePhysicalOneShareItsLinesAndHaveATranslationEach) {
  Guest guest;
  guest.maps(0x10000, 0x400000);
  guest.maps(0x20000, 0x400000);
  guest.loads(0x10040);
  guest.loads(0x20040);
  EXPECT_EQ(guest.count("cache.l1.hits"), 1u);
  EXPECT_EQ(guest.count("cache.tlb.walks"), 2u);
  EXPECT_EQ(guest.count("far.used_bytes"), 4096u);
}

TEST(GuestPages, APageThatBecomesAnotherIsWalkedToAnewAndReadsOtherMemory) {
  Guest guest;
  guest.maps(0x10000, 0x400000);
  guest.loads(0x10040);
  guest.maps(0x10000, 0x500000);
  guest.loads(0x10040);
  EXPECT_EQ(guest.count("cache.tlb.walks"), 2u);
  EXPECT_EQ(guest.count("cache.misses"), 2u);
  EXPECT_EQ(guest.count("far.used_bytes"), 2 * 4096u);
}

TEST(GuestPages, APageThatIsToldAgainAsItWasKeepsItsTranslation) {
  Guest guest;
  guest.maps(0x10000, 0x400000);
  guest.loads(0x10040);
  guest.maps(0x10000, 0x400000);
  guest.loads(0x10080);
  EXPECT_EQ(guest.count("cache.tlb.walks"), 1u);
}

TEST(GuestPages, NewPageTablesVoidTranslationsOfTheLowerHalfAndLeaveTheUpperOnes) {
  Guest guest;
  guest.maps(0x10000, 0x400000);
  guest.maps(upper, 0x500000);
  guest.loads(0x10000);
  guest.loads(upper);
  guest.program.forget_translations(guest.thread);
  guest.loads(upper + 64);
  EXPECT_EQ(guest.count("cache.tlb.walks"), 2u);
  guest.maps(0x10000, 0x600000);
  guest.loads(0x10040);
  EXPECT_EQ(guest.count("cache.tlb.walks"), 3u);
  EXPECT_EQ(guest.count("far.used_bytes"), 3 * 4096u);
}

TEST(GuestPages, AddressesOfPagesAreTheGuestsPhysicalOnes) {
  Guest guest;
  guest.maps(upper + 0x7000, 0x123000);
  guest.loads(upper + 0x7100);
  std::stringstream text;
  guest.program.report(text);
  const std::string wanted = "page." + std::to_string(0x123000) + " = far small";
  EXPECT_NE(text.str().find(wanted), std::string::npos) << text.str();
}

TEST(GuestPages, PagesBesideEachOtherInAHugeOneOfMemoryLieBesideEachOtherThere) {
  AddressSpace space(Frames(Address(0), 0), Frames(Address(1 << 30), 64 << 20),
                     {.huge_pages = true});
  space.mapped(Address(0), 64 << 20, Mapping::memory);
  GuestPages pages(space);
  pages.maps(0x10, 0x403);
  pages.maps(0x99, 0x404);
  const auto first = pages.frame_of(Address(0x10123));
  const auto second = pages.frame_of(Address(0x99000));
  EXPECT_FALSE(first.huge);
  EXPECT_EQ(second.frame - first.frame, 4096u);
  EXPECT_EQ(first.frame.value() % (Bytes{2} << 20), 0x3000u);
  EXPECT_EQ(space.pages(), 1u);
  EXPECT_EQ(pages.find(Address(0x10123))->frame, first.frame);
  EXPECT_FALSE(pages.find(Address(0x55000)));
}

}  // namespace test_file
}  // namespace nearfar::frontend

namespace nearfar::sim::cpu {
namespace test_file {

TEST(TlbForgets, APageInEitherLevelIsVoidAfterItsInvalidation) {
  TlbConfig config;
  config.page = Tlb::small_page;
  config.entries = 64;
  config.ways = 4;
  config.huge_entries = 32;
  config.huge_ways = 4;
  config.second_entries = 1536;
  config.second_ways = 12;
  config.directory_entries = 32;
  Tlb tlb(config, 1);
  const Address low(0x1234000);
  const Address high(frontend::test_file::upper);
  for (const bool huge : {false, true}) {
    tlb.fill(low, huge);
    tlb.fill(high, huge);
    tlb.forget(low, huge);
    EXPECT_FALSE(tlb.holds(low, huge));
    EXPECT_FALSE(tlb.hit_first(low, huge));
    EXPECT_TRUE(tlb.holds(high, huge));
    tlb.fill(low, huge);
  }
  tlb.forget_lower_half();
  for (const bool huge : {false, true}) {
    EXPECT_FALSE(tlb.holds(low, huge));
    EXPECT_FALSE(tlb.hit_first(low, huge));
    EXPECT_TRUE(tlb.holds(high, huge));
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu
