// Compressed far memory: slots of many sizes, and the pages in them.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "tier/far/chunks.h"
#include "tier/far/codec.h"
#include "tier/far/packed_file.h"
#include "tier/far/slots.h"

namespace nearfar::tier {
namespace test_file {

using PageContents = std::array<unsigned char, os::page_bytes>;

/// A page of which so many bytes are random, and the others zeros.
PageContents page_with(Rng& rng, std::size_t random) {
  PageContents page{};
  for (std::size_t i = 0; i < random; ++i) page[i] = static_cast<unsigned char>(rng.below(256));
  return page;
}

/// The shared memory of a tree, and its far file.
struct Tree {
  static constexpr std::size_t chunks = 400;

  std::unique_ptr<Control> control = std::make_unique<Control>();
  std::unique_ptr<Chunks::Totals> totals = std::make_unique<Chunks::Totals>();
  std::vector<Slots::Users> users = std::vector<Slots::Users>(chunks * Chunks::slots_a_chunk);
  std::vector<Chunks::State> states = std::vector<Chunks::State>(chunks);
  int file = ::memfd_create("far", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  Tree() { control->far_slots = users.size(); }
  ~Tree() { ::close(file); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  [[nodiscard]] Slots slots(std::size_t member) {
    Slots made(*control, users.data(), Chunks(*control, *totals, states.data(), file));
    made.become(member);
    return made;
  }
  void seal() const {
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(users.size() * os::page_bytes)), 0);
    ASSERT_EQ(::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  }
  [[nodiscard]] std::size_t file_bytes() const {
    struct stat status{};
    ::fstat(file, &status);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }
};

class Codecs : public testing::TestWithParam<Compression> {};
INSTANTIATE_TEST_SUITE_P(All, Codecs, testing::Values(Compression::lz4, Compression::zstd),
                         [](const auto& codec) { return name_of(codec.param); });

TEST_P(Codecs, MakeAPageAgainFromFewerBytes) {
  Codec codec;
  codec.start(GetParam());
  Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    const std::size_t random = rng.below(3500);
    const PageContents page = page_with(rng, random);
    PageContents packed{};
    const std::size_t length = codec.pack(page.data(), packed.data(), packed.size());
    ASSERT_GT(length, 0U);
    ASSERT_LT(length, random + 100);
    PageContents again{};
    again.fill(7);
    ASSERT_TRUE(codec.unpack(packed.data(), length, again.data()));
    ASSERT_EQ(again, page);
  }
}

TEST_P(Codecs, SayThatAPageDoesNotFit) {
  Codec codec;
  codec.start(GetParam());
  Rng rng(4);
  const PageContents page = page_with(rng, os::page_bytes);
  PageContents packed{};
  EXPECT_EQ(codec.pack(page.data(), packed.data(), packed.size() - 1), 0U);
}

TEST_P(Codecs, RefuseWhatTheyHaveNotPacked) {
  Codec codec;
  codec.start(GetParam());
  Rng rng(5);
  const PageContents page = page_with(rng, 1000);
  PageContents packed{};
  const std::size_t length = codec.pack(page.data(), packed.data(), packed.size());
  PageContents again{};
  EXPECT_FALSE(codec.unpack(packed.data(), length / 2, again.data()));
  const PageContents noise = page_with(rng, os::page_bytes);
  EXPECT_FALSE(codec.unpack(noise.data(), length, again.data()));
}

/// Whatever two processes take and give back, no two slots share a byte, no class grows while a
/// quarter of it is free, and nothing is left of what was given back.
TEST(Chunks, HoldSlotsOfEverySizeApart) {
  Tree tree;
  std::array<Slots, 2> processes{tree.slots(0), tree.slots(1)};
  struct Taken {
    Slot slot;
    std::size_t process;
    Chunks::Class of;
  };
  std::vector<Taken> taken;
  std::map<std::size_t, std::size_t> places;  // where each begins and ends
  Rng rng(6);
  std::uint64_t bytes = 0;
  for (int step = 0; step < 30000; ++step) {
    if (rng.below(100) < (step < 15000 ? 60U : 40U)) {
      const std::size_t process = rng.below(2);
      const auto of = static_cast<Chunks::Class>(1 + rng.below(Chunks::classes));
      Chunks::Totals::OfClass& all = tree.totals->of_class[of];
      const std::uint64_t before = all.chunks.load();
      const std::uint64_t in_use = all.slots.load();
      const Slot slot = processes[process].take(of);
      ASSERT_NE(slot, no_slot);
      if (all.chunks.load() > before) {
        ASSERT_GE(in_use * 4, before * Chunks::slots_a_chunk * 3);
      }
      const Chunks& chunks = processes[process].chunks();
      ASSERT_EQ(chunks.class_of(slot), of);
      const std::size_t begin = chunks.offset(slot);
      const auto next = places.lower_bound(begin);
      ASSERT_TRUE(next == places.end() || begin + chunks.slot_bytes(slot) <= next->first);
      ASSERT_TRUE(next == places.begin() || std::prev(next)->second <= begin);
      places[begin] = begin + chunks.slot_bytes(slot);
      taken.push_back({slot, process, of});
      bytes += of * Chunks::step_bytes;
    } else if (!taken.empty()) {
      std::swap(taken[rng.below(taken.size())], taken.back());
      const Taken last = taken.back();
      taken.pop_back();
      places.erase(processes[0].chunks().offset(last.slot));
      processes[last.process].release(last.slot);
      bytes -= last.of * Chunks::step_bytes;
    }
    ASSERT_EQ(tree.control->stored_bytes.load(), bytes);
  }
  for (const Taken& left : taken) processes[left.process].release(left.slot);
  EXPECT_EQ(tree.control->slots_used.load(), 0U);
  EXPECT_EQ(tree.control->stored_bytes.load(), 0U);
  EXPECT_EQ(tree.totals->chunks.load(), 0U);
  for (const Chunks::State& state : tree.states) EXPECT_EQ(state.load(), 0U);
}

TEST(Chunks, GiveTheirLastSlotsToWhoNeedsThem) {
  Tree tree;
  Slots slots = tree.slots(0);
  for (std::size_t i = 0; i < tree.users.size(); ++i) ASSERT_NE(slots.take(1), no_slot);
  EXPECT_EQ(slots.take(1), no_slot);
  EXPECT_EQ(slots.take(2), no_slot);
  slots.release(77);
  EXPECT_EQ(slots.take(2), no_slot) << "the chunk is the first class's";
  EXPECT_EQ(slots.take(1), 77U);
}

TEST(Chunks, KeepASlotUntilItsLastUserLetsGo) {
  Tree tree;
  Slots parent = tree.slots(0);
  const Slot slot = parent.take(5);
  parent.share(slot);
  parent.release(slot);
  EXPECT_EQ(parent.chunks().class_of(slot), 5);
  EXPECT_EQ(tree.control->stored_bytes.load(), 5 * Chunks::step_bytes);
  parent.unshare(slot);
  EXPECT_EQ(parent.chunks().class_of(slot), 0);
  EXPECT_EQ(tree.control->stored_bytes.load(), 0U);
}

TEST(Chunks, OfAProcessThatHasEndedAreAnybodysAgain) {
  Tree tree;
  Slots ended = tree.slots(1);
  for (int i = 0; i < 100; ++i) (void)ended.take(static_cast<Chunks::Class>(1 + i % 3));
  tree.slots(0).release_all(1);
  EXPECT_EQ(tree.totals->chunks.load(), 0U);
  EXPECT_EQ(tree.control->stored_bytes.load(), 0U);
}

void leaves_the_room_it_saves(Compression compression, Tree& tree, bool in_place) {
  Slots slots = tree.slots(0);
  PackedFile file(FarFile(tree.file), compression);
  file.start(tree.users.size());
  EXPECT_EQ(file.in_place(), in_place);
  Rng rng(8);
  std::vector<std::pair<Slot, PageContents>> written;
  const auto put = [&](std::size_t random) {
    const PageContents page = page_with(rng, random);
    const Slot slot = slots.take(file.pack(page.data()));
    EXPECT_EQ(file.write(slots.chunks(), slot), slots.chunks().slot_bytes(slot));
    written.emplace_back(slot, page);
  };
  for (int i = 0; i < 640; ++i) put(100);
  EXPECT_LE(tree.file_bytes(), 640 * 2 * Chunks::step_bytes + os::page_bytes);
  for (int i = 0; i < 640; ++i) put(rng.below(os::page_bytes + 1));
  PageContents raw = page_with(rng, os::page_bytes);
  EXPECT_EQ(file.pack(raw.data()), Chunks::classes) << "what saves too little is stored as it is";
  for (const auto& [slot, page] : written) {
    PageContents again{};
    EXPECT_EQ(file.read(slots.chunks(), slot, again.data()), slots.chunks().slot_bytes(slot));
    ASSERT_EQ(again, page);
  }
  for (const auto& [slot, page] : written) slots.release(slot);
  EXPECT_EQ(tree.file_bytes(), 0U);
}

TEST_P(Codecs, LeaveTheRoomInTheFarFileThatTheySave) {
  Tree tree;
  leaves_the_room_it_saves(GetParam(), tree, false);
}

TEST_P(Codecs, LeaveTheSameRoomWhereItIsWrittenInPlace) {
  Tree tree;
  tree.seal();
  leaves_the_room_it_saves(GetParam(), tree, true);
}

TEST(Page, SaysOfOneWordOverAndOverWhichItIs) {
  for (const std::uint32_t word : {1U, 0xffffffffU, 0x12345678U, 0xffff0000U, 0xffffU}) {
    Page page{};
    EXPECT_FALSE(page.filled() || page.stored());
    page.fill_with(word);
    EXPECT_TRUE(page.filled() && !page.stored());
    EXPECT_EQ(page.word(), word);
    page.set_slot(5);
    EXPECT_TRUE(page.stored() && !page.filled());
    page.set_slot(no_slot);
    EXPECT_FALSE(page.filled() || page.stored());
  }
}

}  // namespace test_file
}  // namespace nearfar::tier
