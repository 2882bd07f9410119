#include "policy/registry.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "replacement_plain.h"

namespace nearfar::policy {
namespace test_file {

TEST(Replacement, APolicyActsAsAPlainReferenceAndNamesOnlyResidentPages) {
  for (const auto& [name, make] : replacements()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto capacity = static_cast<PageIndex>(1 + Rng(seed).below(40));
      OwnedReplacement policy(name, capacity);
      policy.reserve(100);
      const auto reference = plain_policy(name, capacity);
      RandomEvents events(seed, capacity, 100);
      for (int i = 0; i < 3000; ++i) {
        events.step(*policy, reference.get());
        ASSERT_FALSE(testing::Test::HasFatalFailure()) << name << ", seed " << seed;
        ASSERT_EQ(policy->resident(), events.resident().size()) << name << ", seed " << seed;
      }
      for (const PageIndex page : events.resident()) EXPECT_TRUE(policy->is_resident(page)) << name;
    }
  }
}

/// The pages that a policy names over many random events.
std::vector<PageIndex> named(std::string_view name, bool reserved) {
  OwnedReplacement policy(name, 30);
  policy.reserve(reserved ? 1000 : 40);
  RandomEvents few(6, 30, 40);
  for (int i = 0; i < 500; ++i) few.step(*policy, nullptr);
  for (PageIndex page = 0; page < 40; ++page) policy->released(page);
  policy.reserve(100);
  RandomEvents events(7, 30, 100);
  for (int i = 0; i < 2000; ++i) events.step(*policy, nullptr);
  std::vector<PageIndex> out;
  for (PageIndex page = policy->evict(); page != no_page; page = policy->evict()) {
    out.push_back(page);
  }
  return out;
}

TEST(Replacement, TheSameEventsGiveTheSameAnswersWhateverWasReserved) {
  for (const auto& [name, make] : replacements()) {
    EXPECT_EQ(named(name, false), named(name, false)) << name;
    EXPECT_EQ(named(name, true), named(name, false)) << name;
    EXPECT_FALSE(named(name, false).empty()) << name;
  }
}

TEST(Replacement, AnEmptyNearMemoryHasNothingToEvict) {
  for (const auto& [name, make] : replacements()) {
    OwnedReplacement policy(name, 4);
    policy.reserve(18);
    EXPECT_EQ(policy->evict(), no_page) << name;
    policy->fault(3);
    policy->released(3);
    policy->released(17);
    EXPECT_EQ(policy->evict(), no_page) << name;
    EXPECT_EQ(policy->resident(), 0u) << name;
  }
}

std::string refusal(std::string_view name, PageIndex capacity) {
  try {
    const OwnedReplacement policy(name, capacity);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Replacement, AnUnknownNameIsRefusedWithTheNearest) {
  EXPECT_NE(refusal("clok", 4).find("found 'clok'"), std::string::npos);
  EXPECT_NE(refusal("clok", 4).find("did you mean clock?"), std::string::npos);
  EXPECT_NE(refusal("fifo", 0).find("0 pages"), std::string::npos);
}

}  // namespace test_file
}  // namespace nearfar::policy
