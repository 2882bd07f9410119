// Slots of many sizes, in chunks of the far file.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "far_fixture.h"
#include "tier/far/chunks.h"

namespace nearfar::tier {
namespace test_file {

/// No class grows while a quarter of it is free, and nothing is left of what two processes took and
/// gave back, in whatever order.
TEST(Chunks, NoTwoSlotsShareAByteWhateverTheirSizes) {
  FarTree tree;
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

TEST(Chunks, TheLastFreeSlotOfAClassIsFound) {
  FarTree tree;
  Slots slots = tree.slots(0);
  for (std::size_t i = 0; i < tree.users.size(); ++i) ASSERT_NE(slots.take(1), no_slot);
  EXPECT_EQ(slots.take(1), no_slot);
  EXPECT_EQ(slots.take(2), no_slot);
  slots.release(77);
  EXPECT_EQ(slots.take(2), no_slot) << "the chunk is the first class's";
  EXPECT_EQ(slots.take(1), 77U);
}

TEST(Chunks, ASlotIsKeptUntilItsLastUserReleasesIt) {
  FarTree tree;
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

TEST(Chunks, TheSlotsOfAnEndedProcessAreFree) {
  FarTree tree;
  Slots ended = tree.slots(1);
  for (int i = 0; i < 100; ++i) (void)ended.take(static_cast<Chunks::Class>(1 + i % 3));
  tree.slots(0).release_all(1);
  EXPECT_EQ(tree.totals->chunks.load(), 0U);
  EXPECT_EQ(tree.control->stored_bytes.load(), 0U);
}

TEST(Chunks, AnUnusedChunkServesAnotherClass) {
  FarTree tree;
  Slots slots = tree.slots(0);
  const Slot small = slots.take(1);
  slots.release(small);
  const Slot large = slots.take(Chunks::classes);
  EXPECT_EQ(large / Chunks::slots_a_chunk, small / Chunks::slots_a_chunk);
  EXPECT_EQ(slots.chunks().slot_bytes(large), os::page_bytes);
}

TEST(Chunks, AClassTakesAnEmptyChunkBeforeTheFileGrows) {
  FarTree tree;
  Slots slots = tree.slots(0);
  std::vector<Slot> first;
  for (std::size_t i = 0; i < Chunks::slots_a_chunk; ++i) first.push_back(slots.take(1));
  (void)slots.take(2);  // the second chunk
  for (const Slot slot : first) slots.release(slot);
  EXPECT_EQ(slots.take(3) / Chunks::slots_a_chunk, 0U);
  EXPECT_EQ(tree.control->slots_end.load(), 2 * Chunks::slots_a_chunk);
}

TEST(Chunks, TheSmallestClassThatHasRoomIsChosen) {
  EXPECT_EQ(Chunks::class_for(1), 1);
  EXPECT_EQ(Chunks::class_for(Chunks::step_bytes), 1);
  EXPECT_EQ(Chunks::class_for(Chunks::step_bytes + 1), 2);
  EXPECT_EQ(Chunks::class_for(os::page_bytes), Chunks::classes);
}

TEST(Page, AFilledPageHoldsItsWordAndNoSlot) {
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
