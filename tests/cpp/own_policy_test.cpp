// The policy that docs/tier-policies.md shows, told at random what a pager would tell it.

#include "policy/registry.h"
#include "policy/replacement/page_queues.h"
#include "replacement_fixture.h"

namespace nearfar::policy {

Replacement& make_last_in(PolicyStorage& at, PageIndex capacity);

namespace {

/// What came last leaves first: right for a loop that does not fit, and for little else.
class LastIn final : public QueuedReplacement<1> {
 public:
  void fault(PageIndex page) override { pages_.push_back(queue, page); }
  void second_chance(PageIndex page) override { pages_.push_back(queue, page); }
  void scanned(std::span<const Scan>) override {}
  [[nodiscard]] unsigned scans_per_turnover() const override { return 0; }

 private:
  static constexpr std::uint8_t queue = 1;

  PageIndex choose() override {
    const PageIndex page = pages_.back(queue);
    if (page != no_page) pages_.remove(page);
    return page;
  }
  void readmitted(PageIndex page) override { pages_.push_back(queue, page); }
};

}  // namespace

Replacement& make_last_in(PolicyStorage& at, PageIndex) { return make_at<LastIn>(at); }

TEST(OwnPolicy, TheDocumentedPolicyNamesOnlyResidentPagesTheLastOneFirst) {
  PolicyStorage storage;
  Replacement& policy = make_last_in(storage, 30);
  std::vector<std::uint32_t> records(100 * policy.bytes_per_page() / 4);
  policy.keep_in(records.data());
  RandomEvents events(7, 30, 100);
  for (int i = 0; i < 3000; ++i) {
    events.step(policy, nullptr);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    ASSERT_EQ(policy.resident(), events.resident().size());
  }
  for (const PageIndex page : events.resident()) policy.released(page);
  policy.fault(1);
  policy.fault(2);
  EXPECT_EQ(policy.evict(), 2u);
}

}  // namespace nearfar::policy
