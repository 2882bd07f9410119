#include "frontend/space.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "placement_fixture.h"
#include "policy/registry.h"

namespace nearfar::frontend {
namespace test_file {

constexpr Bytes kib = 1024, mib = 1024 * kib;
constexpr Bytes near_bytes = 8 * mib, far_bytes = 16 * mib;

/// Near memory is larger than what may be used of it.
AddressSpace make(Bytes near, AddressSpace::Options options) {
  return {Frames(Address(0), near), Frames(Address(64 * mib), far_bytes), std::move(options)};
}

AddressSpace make(Place place, bool huge = false) {
  return make(near_bytes, {.place = place, .huge_pages = huge});
}

std::unique_ptr<Placer> placer_of(const std::string& policy, std::uint64_t near_pages) {
  const Placer::Limits limits{
      .near_pages = static_cast<policy::PageIndex>(near_pages), .interval = Tick(1000), .pairs = 2};
  if (policy.starts_with("oracle:")) return make_oracle(policy, limits);
  if (policy == "static") return make_flat(policy, limits);
  return make_cached(policy, limits);
}

AddressSpace make(const char* policy, std::uint64_t near_pages, bool huge = false) {
  return make(
      near_pages * (huge ? Frames::huge : Frames::small),
      {.place = Place::policy, .huge_pages = huge, .placer = placer_of(policy, near_pages)});
}

std::map<std::uint64_t, AddressSpace::Page> pages_of(const AddressSpace& space) {
  std::map<std::uint64_t, AddressSpace::Page> pages;
  space.each_page([&](std::uint64_t address, const AddressSpace::Page& page) {
    EXPECT_TRUE(pages.empty() || pages.rbegin()->first < address);
    pages.emplace(address, page);
  });
  EXPECT_EQ(pages.size(), space.pages());
  return pages;
}

AddressSpace::Page page_at(const AddressSpace& space, std::uint64_t address) {
  return pages_of(space).at(address);
}

TEST(AddressSpace, AnAddressSpacePlacesAPageOnceAndNoTwoInOneFrame) {
  AddressSpace space = make(Place::far);
  space.mapped(Address(mib), mib, Mapping::memory);
  std::set<Address> frames;
  for (Bytes at = 0; at < mib; at += 1000) {
    const auto frame = space.frame_of(Address(mib + at));
    EXPECT_FALSE(frame.huge);
    EXPECT_EQ(space.frame_of(Address(mib + at)).frame, frame.frame);
    frames.insert(frame.frame);
  }
  EXPECT_EQ(frames.size(), mib / Frames::small);
  EXPECT_EQ(space.in_use(Tier::far), mib);
  EXPECT_EQ(space.in_use(Tier::near), 0u);
}

TEST(AddressSpace, AnAddressSpacePutsPersistentPagesIntoFarMemoryInEveryPlacement) {
  for (const Place place : {Place::near, Place::interleave}) {
    AddressSpace space = make(place);
    space.mapped(Address(0x10000), 0x10000, Mapping::persistent);
    for (Bytes at = 0; at < 0x10000; at += Frames::small) {
      EXPECT_FALSE(space.is_near(space.frame_of(Address(0x10000 + at)).frame));
    }
  }
}

TEST(AddressSpace, AnAddressSpaceInterleavesPageByPage) {
  AddressSpace space = make(Place::interleave);
  space.mapped(Address(0), mib, Mapping::memory);
  for (Bytes at = 0; at < mib; at += Frames::small) space.frame_of(Address(at));
  EXPECT_EQ(space.in_use(Tier::near), mib / 2);
  EXPECT_EQ(space.in_use(Tier::far), mib / 2);
}

TEST(AddressSpace, AnAddressSpaceGoesToTheOtherTierWhenOneIsFullAndSaysWhenBothAre) {
  AddressSpace space = make(Place::near);
  space.mapped(Address(0), 64 * mib, Mapping::memory);
  for (Bytes at = 0; at < near_bytes + far_bytes; at += Frames::small) space.frame_of(Address(at));
  EXPECT_EQ(space.in_use(Tier::near), near_bytes);
  EXPECT_EQ(space.in_use(Tier::far), far_bytes);
  EXPECT_THROW(space.frame_of(Address(near_bytes + far_bytes)), InputError);
}

TEST(AddressSpace, AnAddressSpaceUsesHugePagesWhereAMappingHoldsThem) {
  AddressSpace space = make(Place::far, true);
  space.mapped(Address(mib), 4 * mib, Mapping::memory);  // 1 to 5 MiB: 2 to 4 is whole
  EXPECT_FALSE(space.frame_of(Address(mib)).huge);
  EXPECT_TRUE(space.frame_of(Address(2 * mib + 5)).huge);
  EXPECT_EQ(space.frame_of(Address(4 * mib - 1)).frame, space.frame_of(Address(2 * mib)).frame);
  EXPECT_FALSE(space.frame_of(Address(4 * mib)).huge);
  EXPECT_EQ(space.frame_of(Address(2 * mib)).frame.value() % Frames::huge, 0u);
}

TEST(AddressSpace, AnAddressSpaceReturnsFramesAndUsesThemAgain) {
  AddressSpace space = make(Place::far);
  const std::uint64_t before = space.generation();
  for (int times = 0; times < 20; ++times) {
    space.mapped(Address(0), 4 * mib, Mapping::memory);
    for (Bytes at = 0; at < 4 * mib; at += Frames::small) space.frame_of(Address(at));
    space.unmapped(Address(0), 4 * mib);
  }
  EXPECT_EQ(space.in_use(Tier::far), 0u);
  EXPECT_NE(space.generation(), before);
  space.frame_of(Address(0));
  EXPECT_EQ(space.unknown_pages(), 1u);
}

TEST(AddressSpace, AnAddressSpaceUnmapsTheMiddleOfAMapping) {
  AddressSpace space = make(Place::far);
  space.mapped(Address(0), 3 * Frames::small, Mapping::persistent);
  space.unmapped(Address(Frames::small), Frames::small);
  for (Bytes at = 0; at < 3 * Frames::small; at += Frames::small) space.frame_of(Address(at));
  EXPECT_EQ(space.unknown_pages(), 1u);
}

TEST(AddressSpace, AnAddressSpaceTakesPagesAlongWhenAMappingMoves) {
  AddressSpace space = make(Place::far);
  space.mapped(Address(mib), 2 * Frames::small, Mapping::memory);
  const Address first = space.frame_of(Address(mib)).frame;
  const Address second = space.frame_of(Address(mib + Frames::small)).frame;
  space.remapped(Address(mib), 2 * Frames::small, Address(4 * mib), 4 * Frames::small);
  EXPECT_EQ(space.frame_of(Address(4 * mib)).frame, first);
  EXPECT_EQ(space.frame_of(Address(4 * mib + Frames::small)).frame, second);
  space.frame_of(Address(4 * mib + 3 * Frames::small));
  EXPECT_EQ(space.unknown_pages(), 0u);
  EXPECT_EQ(space.in_use(Tier::far), 3 * Frames::small);
}

TEST(AddressSpace, AnAddressSpaceExchangesThePagesThatThePolicyNames) {
  AddressSpace space = make("oracle:lru", 2);
  space.mapped(Address(0), mib, Mapping::memory);
  const Address near0 = space.frame_of(Address(0)).frame;
  space.frame_of(Address(Frames::small));
  const Address far = space.frame_of(Address(2 * Frames::small)).frame;
  ASSERT_TRUE(space.is_near(near0));
  ASSERT_FALSE(space.is_near(far));
  std::vector<AddressSpace::Copy> copies;
  space.asked(far + 64, false, Tick{}, copies);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(space.frame_of(Address(2 * Frames::small)).frame, near0);
  EXPECT_EQ(space.frame_of(Address(0)).frame, far);
  EXPECT_EQ(copies[0].from, near0);
  EXPECT_EQ(copies[0].to, far);
  EXPECT_EQ(page_at(space, 2 * Frames::small).reads, 1u);
  // It is near now: nothing moves.
  copies.clear();
  space.asked(near0, true, Tick{}, copies);
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(page_at(space, 2 * Frames::small).writes, 1u);
}

TEST(AddressSpace, AnAddressSpaceMovesHugePagesWholeAndKeepsThoseBesidePersistentFilesFar) {
  AddressSpace space = make("oracle:lru", 1, true);
  space.mapped(Address(mib), 5 * mib, Mapping::memory);  // 1 to 6 MiB: from 0 on three pages
  space.mapped(Address(8 * mib), Frames::small, Mapping::persistent);
  space.mapped(Address(8 * mib + Frames::small), mib, Mapping::memory);
  const auto first = space.frame_of(Address(mib));
  const auto second = space.frame_of(Address(3 * mib));
  EXPECT_TRUE(first.huge && second.huge);
  EXPECT_TRUE(space.is_near(first.frame));
  const auto beside = space.frame_of(Address(8 * mib + Frames::small));
  EXPECT_FALSE(beside.huge || space.is_near(beside.frame));
  std::vector<AddressSpace::Copy> copies;
  space.asked(beside.frame, false, Tick{}, copies);
  EXPECT_TRUE(copies.empty());
  space.asked(second.frame + mib, false, Tick{}, copies);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].bytes, Frames::huge);
  EXPECT_EQ(space.frame_of(Address(3 * mib)).frame, first.frame);
  EXPECT_EQ(space.frame_of(Address(mib)).frame, second.frame);
  // A file that comes to lie in a huge page makes small ones of it.
  space.mapped(Address(3 * mib), Frames::small, Mapping::persistent);
  EXPECT_FALSE(space.frame_of(Address(2 * mib)).huge);
  space.unmapped(Address(0), 16 * mib);
  EXPECT_EQ(space.in_use(Tier::near) + space.in_use(Tier::far), 0u);
}

/// No two pages in a frame, none in the wrong tier, and the tiers count what is there.
void expect_conserved(const AddressSpace& space, const Frames& near, const std::string& what) {
  Bytes used[2] = {};
  std::uint64_t end = 0;
  std::map<std::uint64_t, Bytes> frames;
  for (const auto& [address, page] : pages_of(space)) {
    const Bytes size = page.huge ? Frames::huge : Frames::small;
    ASSERT_GE(address, end) << what;
    end = address + size;
    used[space.is_near(page.frame) ? 0 : 1] += size;
    ASSERT_TRUE(frames.emplace(page.frame.value(), size).second) << what;
    ASSERT_FALSE(page.stays && space.is_near(page.frame)) << what;
  }
  end = 0;
  for (const auto& [frame, size] : frames) {
    ASSERT_GE(frame, end) << what;
    end = frame + size;
  }
  ASSERT_EQ(space.in_use(Tier::near), used[0]) << what;
  ASSERT_EQ(space.in_use(Tier::far), used[1]) << what;
  ASSERT_LE(used[0], near.capacity()) << what;
}

TEST(AddressSpace, AnAddressSpaceConservesPagesWhateverAProgramDoes) {
  for (const char* policy : {"static", "oracle:fifo", "oracle:lru", "oracle:hot-cold"}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const bool huge = seed % 2 == 0;
      const std::uint64_t places = seed % 5 + (std::string(policy) == "static" ? 1 : 0);
      AddressSpace space = make(policy, places, huge);
      const Frames near(Address(0), places * (huge ? Frames::huge : Frames::small));
      Rng rng(seed);
      std::vector<AddressSpace::Copy> copies;
      const Bytes range = huge ? 12 * mib : 40 * Frames::small;
      for (int i = 0; i < 3000; ++i) {
        const Address at(rng.below(range));
        const std::uint64_t dice = rng.below(100);
        if (dice < 2) {
          space.mapped(at, 1 + rng.below(range / 8),
                       dice == 0 ? Mapping::persistent : Mapping::memory);
        } else if (dice < 3) {
          space.unmapped(at, 1 + rng.below(range / 8));
        } else {
          const Address line = space.frame_of(at).frame;
          space.asked(line, dice % 2 == 0, Tick(10 * static_cast<std::uint64_t>(i)), copies);
        }
        if (i % 50 == 0) expect_conserved(space, near, policy + std::to_string(seed));
      }
      Bytes moved = 0;
      for (const AddressSpace::Copy& copy : copies) moved += copy.bytes;
      EXPECT_EQ(moved, space.moves() * (huge ? Frames::huge : Frames::small));
      EXPECT_EQ(space.moves() != 0, places != 0 && std::string(policy) != "static") << policy;
    }
  }
}

std::map<std::string, std::uint64_t> placer_report(const AddressSpace& space) {
  std::stringstream text;
  space.report_placer(text);
  std::map<std::string, std::uint64_t> values;
  for (std::string line; std::getline(text, line);) {
    const std::size_t at = line.find(" = ");
    values[line.substr(0, at)] = std::stoull(line.substr(at + 3));
  }
  return values;
}

TEST(AddressSpace, AnAddressSpaceExchangesPagesAfterFiveScansAsAPlacementPolicySays) {
  policy::PromotesUsed policy;
  AddressSpace space =
      make(2 * Frames::small,
           {.place = Place::policy,
            .placer = make_flat(policy, {.near_pages = 2, .interval = Tick(5000), .pairs = 1})});
  space.mapped(Address(0), mib, Mapping::memory);
  std::vector<AddressSpace::Copy> copies;
  const auto touch = [&](std::uint64_t page, bool write, Tick now) {
    space.touch(Address(page * Frames::small), write, now, copies);
  };
  for (std::uint64_t page = 0; page < 4; ++page) touch(page, false, Tick(1));
  EXPECT_EQ(space.in_use(Tier::near), 2 * Frames::small);
  EXPECT_EQ(space.take_policy_time(), Tick{});
  // At the fifth scan all have been used: nothing is to be exchanged.
  for (std::uint64_t page = 0; page < 4; ++page) touch(page, page == 0, Tick(4001));
  touch(0, false, Tick(5000));
  EXPECT_TRUE(copies.empty());
  EXPECT_TRUE(policy.used(1) && policy.used(3));
  EXPECT_TRUE(policy.written(0));
  EXPECT_FALSE(policy.written(1));
  // Each scan takes time, which is taken once.
  EXPECT_GT(space.take_policy_time(), Tick{});
  EXPECT_EQ(space.take_policy_time(), Tick{});
  // Before the tenth only far pages are; of their two pairs one may be exchanged.
  const Address near = space.frame_of(Address(0)).frame;
  const Address far = space.frame_of(Address(2 * Frames::small)).frame;
  touch(2, false, Tick(9500));
  touch(3, false, Tick(9999));
  EXPECT_TRUE(copies.empty());
  touch(3, false, Tick(10000));
  EXPECT_FALSE(policy.written(0));
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(space.frame_of(Address(2 * Frames::small)).frame, near);
  EXPECT_EQ(space.frame_of(Address(0)).frame, far);
  const auto values = placer_report(space);
  EXPECT_EQ(values.at("flat.scans"), 10u);
  EXPECT_EQ(values.at("flat.pages_scanned"), 40u);
  EXPECT_EQ(values.at("flat.exchanges"), 1u);
}

/// The near copy of a page that is cached, and the far frame that it keeps.
TEST(AddressSpace, AnAddressSpaceCachesAPageInNearMemoryAndKeepsItsFrameInFarMemory) {
  AddressSpace space = make("fifo", 1);
  space.mapped(Address(0), mib, Mapping::memory);
  std::vector<AddressSpace::Copy> copies;
  // The first touch of a page copies nothing.
  EXPECT_TRUE(space.faults(Address(0)));
  space.touch(Address(0), true, Tick{}, copies);
  EXPECT_TRUE(copies.empty());
  EXPECT_FALSE(space.faults(Address(8)));
  const Address near = space.frame_of(Address(0)).frame;
  EXPECT_TRUE(space.is_near(near));
  // Another one takes its frame: what was written is copied out.
  space.touch(Address(Frames::small), false, Tick{}, copies);
  ASSERT_EQ(copies.size(), 1u);
  const Address home = copies[0].to;
  EXPECT_EQ(copies[0].from, near);
  EXPECT_EQ(space.frame_of(Address(0)).frame, home);
  EXPECT_TRUE(space.faults(Address(0)));
  // Back again: the other one was not written, and is only dropped.
  copies.clear();
  space.touch(Address(0), false, Tick{}, copies);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].from, home);
  EXPECT_EQ(copies[0].to, near);
  // Unmapped, it leaves no frame behind.
  space.unmapped(Address(0), mib);
  EXPECT_EQ(space.in_use(Tier::near), 0u);
  EXPECT_EQ(space.in_use(Tier::far), 0u);
}

TEST(AddressSpace, AnAddressSpaceKeepsTheNumberAndTheFramesOfACachedPageThatMremapMoves) {
  AddressSpace space = make("fifo", 2);
  space.mapped(Address(0), mib, Mapping::memory);
  std::vector<AddressSpace::Copy> copies;
  space.touch(Address(0), true, Tick{}, copies);
  const Address near = space.frame_of(Address(0)).frame;
  space.remapped(Address(0), mib, Address(4 * mib), mib);
  EXPECT_FALSE(space.faults(Address(4 * mib)));
  EXPECT_EQ(space.frame_of(Address(4 * mib)).frame, near);
  EXPECT_TRUE(space.faults(Address(0)));
}

/// Says which pages are resident, as plainly as can be: a list, the page that came first in front.
struct PlainCache {
  std::uint64_t frames;
  std::vector<std::uint64_t> resident{};
  std::set<std::uint64_t> dirty{}, known{};
  std::uint64_t hits = 0, zeroed = 0, copied_in = 0, copied_out = 0, dropped = 0, unmapped = 0;

  void access(std::uint64_t page, bool write) {
    if (std::ranges::find(resident, page) != resident.end()) {
      ++hits;
    } else {
      if (resident.size() == frames) {
        const std::uint64_t first = resident.front();
        resident.erase(resident.begin());
        ++(dirty.erase(first) != 0 ? copied_out : dropped);
      }
      resident.push_back(page);
      ++(known.insert(page).second ? zeroed : copied_in);
    }
    if (write) dirty.insert(page);
  }
  void unmap(std::uint64_t page) {
    unmapped += std::erase(resident, page);
    dirty.erase(page);
    known.erase(page);
  }
};

TEST(AddressSpace, AnAddressSpaceCountsWhatAPlainCacheOfPagesCounts) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const bool huge = seed % 4 == 0;
    const Bytes unit = huge ? Frames::huge : Frames::small;
    const std::uint64_t frames = 1 + seed % 3;
    AddressSpace space = make("fifo", frames, huge);
    PlainCache cache{.frames = frames};
    space.mapped(Address(0), 6 * unit, Mapping::memory);
    Rng rng(seed);
    std::vector<AddressSpace::Copy> copies;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t page = rng.below(6);
      if (rng.below(50) == 0) {
        space.unmapped(Address(page * unit), unit);
        space.mapped(Address(page * unit), unit, Mapping::memory);
        cache.unmap(page);
        continue;
      }
      const bool write = rng.below(3) == 0;
      const Address at(page * unit + rng.below(unit));
      const bool resident = std::ranges::find(cache.resident, page) != cache.resident.end();
      ASSERT_EQ(space.faults(at), !resident);
      space.touch(at, write, Tick{}, copies);
      cache.access(page, write);
      ASSERT_TRUE(space.is_near(space.frame_of(at).frame));
      ASSERT_EQ(space.in_use(Tier::near), cache.resident.size() * unit);
      ASSERT_LE(cache.resident.size(), frames);
    }
    const auto values = placer_report(space);
    EXPECT_EQ(values.at("cached.hits"), cache.hits) << seed;
    EXPECT_EQ(values.at("cached.first_touches"), cache.zeroed) << seed;
    EXPECT_EQ(values.at("cached.copies_in"), cache.copied_in) << seed;
    EXPECT_EQ(values.at("cached.copies_out"), cache.copied_out) << seed;
    EXPECT_EQ(values.at("cached.clean_drops"), cache.dropped) << seed;
    EXPECT_EQ(values.at("cached.unmapped"), cache.unmapped) << seed;
    EXPECT_EQ(values.at("cached.resident_pages"), cache.resident.size()) << seed;
    EXPECT_EQ(cache.zeroed + cache.copied_in,
              cache.copied_out + cache.dropped + cache.unmapped + cache.resident.size());
    EXPECT_EQ(values.at("cached.near_pages"), frames) << seed;
    EXPECT_EQ(copies.size(), cache.copied_in + cache.copied_out) << seed;
    EXPECT_EQ(space.moves(), copies.size()) << seed;
  }
}

TEST(AddressSpace, AnAddressSpaceConservesTheFramesOfEveryReplacementPolicy) {
  for (const policy::ReplacementEntry& entry : policy::replacements()) {
    const std::string name(entry.name);
    AddressSpace space = make(name.c_str(), 5);
    space.mapped(Address(0), 40 * Frames::small, Mapping::memory);
    Rng rng(3);
    std::vector<AddressSpace::Copy> copies;
    for (int i = 0; i < 3000; ++i) {
      const Address at(rng.below(40 * Frames::small));
      space.touch(at, rng.below(3) == 0, Tick{}, copies);
      ASSERT_FALSE(space.faults(at)) << name;
      if (rng.below(100) == 0) space.unmapped(at, Frames::small);
    }
    const auto values = placer_report(space);
    EXPECT_EQ(values.at("cached.faults"), 3000 - values.at("cached.hits")) << name;
    EXPECT_LE(values.at("cached.resident_pages"), 5u) << name;
    EXPECT_EQ(space.in_use(Tier::near), values.at("cached.resident_pages") * Frames::small) << name;
    EXPECT_EQ(copies.size(), values.at("cached.copies_in") + values.at("cached.copies_out"))
        << name;
  }
}

}  // namespace test_file
}  // namespace nearfar::frontend
