// What the processes of a tree share: counters, orders, and the lists that name what is in them.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/named.h"
#include "tier/far/compression.h"
#include "tier/os/eviction.h"
#include "tier/os/system.h"
#include "tier/pager/fault_record.h"
#include "tier/service/pager_cpu.h"
#include "tier/tree/control.h"
#include "tier/tree/counts.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {
namespace test_file {

std::uint64_t value(const Control& control, Count what) {
  return control.counts[static_cast<std::size_t>(what)].load();
}

TEST(Control, ACountGrowsByWhatIsAdded) {
  const auto control = std::make_unique<Control>();
  control->add(Count::faults);
  control->add(Count::faults, 4);
  control->add(Count::forks, 0);
  EXPECT_EQ(value(*control, Count::faults), 5U);
  EXPECT_EQ(value(*control, Count::forks), 0U);
}

TEST(Control, APeakIsRaisedAndNeverLowered) {
  const auto control = std::make_unique<Control>();
  control->raise(Count::near_peak, 7);
  control->raise(Count::near_peak, 3);
  EXPECT_EQ(value(*control, Count::near_peak), 7U);
  control->raise(Count::near_peak, 8);
  EXPECT_EQ(value(*control, Count::near_peak), 8U);
}

TEST(Control, OnlyPlacesThatWereEverTakenAreVisited) {
  const auto control = std::make_unique<Control>();
  EXPECT_TRUE(control->used_members().empty());
  control->members_end = 3;
  EXPECT_EQ(control->used_members().size(), 3U);
  EXPECT_EQ(&control->used_members()[2], &control->members[2]);
}

TEST(Orders, OrdersLieBehindTheControlBlock) {
  const os::Place begin = os::reserve(Control::bytes);
  ASSERT_NE(begin, 0U);
  auto& control = *os::pointer<Control>(begin);
  EXPECT_EQ(os::place(&orders_of(control)), begin + Orders::offset);
  EXPECT_GE(Orders::offset, sizeof(Control));
  os::unmap(begin, Control::bytes);
}

/// A list that is used by name, and one value of it with the name that it should have.
struct List {
  const char* of;
  std::span<const Named> entries;
  std::size_t value;
  const char* name;
};

class Lists : public testing::TestWithParam<List> {};
INSTANTIATE_TEST_SUITE_P(
    All, Lists,
    testing::Values(
        List{"Counts", all_counts, static_cast<std::size_t>(Count::outside), "outside"},
        List{"Evictions", os::all_evictions, static_cast<std::size_t>(os::Eviction::copy), "copy"},
        List{"Compressions", all_compressions, static_cast<std::size_t>(Compression::zstd), "zstd"},
        List{"PagerCpus", all_pager_cpus, static_cast<std::size_t>(PagerCpu::automatic), "auto"},
        List{"Residences", all_residences, static_cast<std::size_t>(Residence::kept), "kept"},
        List{"FaultEvents", all_fault_events, static_cast<std::size_t>(FaultEvent::moved_to),
             "moved_to"}),
    [](const auto& list) { return list.param.of; });

TEST_P(Lists, AValueIsThePositionOfItsName) {
  ASSERT_LT(GetParam().value, GetParam().entries.size());
  EXPECT_STREQ(GetParam().entries[GetParam().value].name, GetParam().name);
}

TEST_P(Lists, NoTwoEntriesHaveTheSameName) {
  std::set<std::string_view> names;
  for (const Named& entry : GetParam().entries)
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
}

TEST_P(Lists, EveryEntryHasAMeaning) {
  for (const Named& entry : GetParam().entries)
    EXPECT_FALSE(std::string_view(entry.meaning).empty()) << entry.name;
}

TEST(Counts, PeaksAreTheCountsThatAreCalledPeaks) {
  for (std::size_t i = 0; i < number_of_counts; ++i) {
    const bool named = std::string_view(all_counts[i].name).ends_with("_peak");
    EXPECT_EQ(is_peak(static_cast<Count>(i)), named) << all_counts[i].name;
  }
}

TEST(Names, AValueIsKnownByItsName) {
  EXPECT_STREQ(name_of(Compression::lz4), "lz4");
  EXPECT_STREQ(name_of(os::Eviction::best), "best");
  EXPECT_STREQ(name_of(PagerCpu::per_cpu), "per_cpu");
}

}  // namespace test_file
}  // namespace nearfar::tier
