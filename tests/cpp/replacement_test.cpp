#include "policy/replacement/replacement.h"

#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "replacement_fixture.h"

namespace nearfar::policy {
namespace {

class PlainFifo final : public PlainPolicy {
 public:
  void fault(PageIndex page) override { order_.push_back(page); }
  void second_chance(PageIndex page) override { order_.push_back(page); }
  void scanned(const Scanned&) override {}
  void released(PageIndex page) override { order_.remove(page); }
  void refused(PageIndex page) override { order_.push_back(page); }
  PageIndex evict() override {
    if (order_.empty()) return no_page;
    const PageIndex page = order_.front();
    order_.pop_front();
    return page;
  }

 private:
  std::list<PageIndex> order_;
};

/// A real circle with a hand, where the policy has a queue.
class PlainClock final : public PlainPolicy {
 public:
  void fault(PageIndex page) override { behind_the_hand({page, false}); }
  void second_chance(PageIndex page) override { behind_the_hand({page, true}); }
  void scanned(const Scanned& found) override {
    for (Place& place : circle_) place.used |= place.page == found.page && found.accessed;
  }
  void released(PageIndex page) override {
    for (std::size_t i = 0; i < circle_.size(); ++i) {
      if (circle_[i].page == page) return take(i);
    }
  }
  void refused(PageIndex page) override { behind_the_hand({page, false}); }
  PageIndex evict() override {
    if (circle_.empty()) return no_page;
    for (; circle_[hand_].used; hand_ = (hand_ + 1) % circle_.size()) circle_[hand_].used = false;
    const PageIndex page = circle_[hand_].page;
    take(hand_);
    return page;
  }

 private:
  struct Place {
    PageIndex page;
    bool used;
  };

  void behind_the_hand(Place place) {
    circle_.insert(circle_.begin() + static_cast<std::ptrdiff_t>(hand_), place);
    hand_ = (hand_ + 1) % circle_.size();
  }
  void take(std::size_t at) {
    circle_.erase(circle_.begin() + static_cast<std::ptrdiff_t>(at));
    if (at < hand_) --hand_;
    if (hand_ >= circle_.size()) hand_ = 0;
  }

  std::vector<Place> circle_;
  std::size_t hand_ = 0;
};

std::unique_ptr<PlainPolicy> plain(std::string_view name) {
  if (name == "fifo") return std::make_unique<PlainFifo>();
  if (name == "clock") return std::make_unique<PlainClock>();
  return nullptr;
}

TEST(Replacement, DoesWhatAPlainReferenceDoesAndNamesOnlyResidentPages) {
  for (const std::string_view name : replacement_names()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto capacity = static_cast<PageIndex>(1 + Rng(seed).below(40));
      const auto policy = make_replacement(name, capacity);
      const auto reference = plain(name);
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
  const auto policy = make_replacement(name, 30);
  if (reserved) policy->reserve(1000);
  RandomEvents events(7, 30, 100);
  for (int i = 0; i < 2000; ++i) events.step(*policy, nullptr);
  std::vector<PageIndex> out;
  for (PageIndex page = policy->evict(); page != no_page; page = policy->evict()) {
    out.push_back(page);
  }
  return out;
}

TEST(Replacement, SameEventsGiveTheSameAnswersWhateverWasReserved) {
  for (const std::string_view name : replacement_names()) {
    EXPECT_EQ(named(name, false), named(name, false)) << name;
    EXPECT_EQ(named(name, true), named(name, false)) << name;
    EXPECT_FALSE(named(name, false).empty()) << name;
  }
}

TEST(Replacement, AnEmptyNearMemoryHasNothingToEvict) {
  for (const std::string_view name : replacement_names()) {
    const auto policy = make_replacement(name, 4);
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
    static_cast<void>(make_replacement(name, capacity));
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

}  // namespace
}  // namespace nearfar::policy
