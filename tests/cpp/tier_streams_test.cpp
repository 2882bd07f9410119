// Read-ahead: sequences of faults, and how far ahead of each.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "tier/pager/page_table.h"
#include "tier/pager/streams.h"

namespace nearfar::tier {
namespace test_file {

/// Whether a page is near; one type for all tests, as Streams is compiled anew for each.
using Near = std::function<bool(PageNumber)>;
const Near none_near = [](PageNumber) { return false; };

/// Faults on pages of which those in `near` are near, and what follows each if `follows`.
class Sequence {
 public:
  explicit Sequence(std::size_t longest, bool follows = false, std::set<PageNumber> near = {})
      : streams_(longest), follows_(follows), near_(std::move(near)) {}

  [[nodiscard]] Streams::Run wanted(PageNumber page) const {
    return streams_.wanted(page, Near([this](PageNumber other) { return near_.contains(other); }));
  }
  /// Brings in all that is wanted at once.
  Streams::Run fault(PageNumber page) {
    const Streams::Run run = wanted(page);
    useful_ += streams_.brought(run, page, run.at_once, run.pages - run.at_once, run.pace);
    next_ = static_cast<PageNumber>(page + run.at_once);
    while (follows_) {
      const Streams::Part part = streams_.next_part();
      if (part.count == 0) break;
      EXPECT_EQ(part.first, next_);
      streams_.advance(part.count, part.count);
      next_ += static_cast<PageNumber>(part.count);
    }
    return run;
  }
  /// The same, on the first page that has not come.
  Streams::Run fault() { return fault(next_); }

  void follows(bool follows) { follows_ = follows; }
  [[nodiscard]] PageNumber next() const { return next_; }
  [[nodiscard]] std::size_t useful() const { return useful_; }

 private:
  Streams streams_;
  bool follows_;
  std::set<PageNumber> near_;
  PageNumber next_ = 100;
  std::size_t useful_ = 0;
};

TEST(Streams, ReadAheadDoublesForASequenceAndStaysAtOnePageOtherwise) {
  Sequence sequence(8);
  std::vector<std::size_t> lengths;
  for (int i = 0; i < 5; ++i) lengths.push_back(sequence.fault().pages);
  EXPECT_EQ(lengths, (std::vector<std::size_t>{1, 2, 4, 8, 8}));
  EXPECT_EQ(sequence.useful(), 0U + 1 + 3 + 7);
  EXPECT_EQ(sequence.wanted(7).pages, 1U);
  EXPECT_EQ(sequence.wanted(101).pages, 1U);
}

/// Faults downwards, each on the page before those that came; how many come with each.
std::vector<std::size_t> lengths_down(Streams& streams, PageNumber page, int faults) {
  std::vector<std::size_t> lengths;
  for (int i = 0; i < faults; ++i) {
    const Streams::Run run = streams.wanted(page, none_near);
    EXPECT_EQ(run.at_once, run.pages);
    EXPECT_EQ(run.down, i != 0);
    lengths.push_back(run.pages);
    page -= static_cast<PageNumber>(run.pages - 1);
    (void)streams.brought(run, page, run.pages, 0, run.pace);
    --page;
  }
  return lengths;
}

TEST(Streams, StreamsGoDownAsWellButBringAllPagesAtOnce) {
  Streams streams(512);
  EXPECT_EQ(lengths_down(streams, 1000, 8), (std::vector<std::size_t>{1, 2, 4, 8, 16, 32, 32, 32}));
  EXPECT_EQ(streams.next_part().count, 0U);
  Streams shorter(8);
  EXPECT_EQ(lengths_down(shorter, 1000, 6), (std::vector<std::size_t>{1, 2, 4, 8, 8, 8}));
}

TEST(Streams, StreamsThatHaveGoneUpDoNotTurnRound) {
  Streams streams(8);
  (void)streams.brought({}, 100, 1, 0, 1);
  EXPECT_EQ(streams.wanted(99, none_near).pages, 2U);
  (void)streams.brought(streams.wanted(101, none_near), 101, 2, 0, 2);
  EXPECT_EQ(streams.wanted(100, none_near).pages, 1U);
  EXPECT_EQ(streams.wanted(99, none_near).pages, 1U);
  EXPECT_EQ(streams.wanted(103, none_near).pages, 4U);
}

TEST(Streams, StreamsGoDownPastPagesThatAreNear) {
  Streams streams(8);
  const Near near = [](PageNumber page) { return page == 99 || page == 98 || page == 95; };
  (void)streams.brought({}, 100, 1, 0, 1);
  EXPECT_TRUE(streams.wanted(97, near).down);
  EXPECT_FALSE(streams.wanted(96, near).down) << "97 was skipped";
  EXPECT_EQ(streams.brought(streams.wanted(97, near), 96, 2, 0, 2), 0U);
  EXPECT_EQ(streams.wanted(94, near).pages, 4U);
  EXPECT_EQ(streams.brought(streams.wanted(94, near), 91, 4, 0, 4), 1U);
}

TEST(Streams, StreamsGoDownOnlyWhereNoneGoesUp) {
  Streams streams(8);
  (void)streams.brought({}, 104, 1, 0, 1);
  (void)streams.brought({}, 102, 1, 0, 1);
  const Streams::Run run = streams.wanted(103, none_near);
  EXPECT_FALSE(run.down);
  EXPECT_EQ(run.pages, 2U);
}

TEST(Streams, StreamsThatGoDownEndAtTheFirstPage) {
  Streams streams(8);
  (void)streams.brought({}, 0, 1, 0, 1);
  EXPECT_FALSE(streams.wanted(0, none_near).down);
}

TEST(Streams, AStreamKeepsItsPaceAfterShortenedReadAhead) {
  Streams streams(8);
  const auto wanted = [&](PageNumber page) { return streams.wanted(page, none_near); };
  PageNumber page = 100;
  for (const PageNumber count : {1U, 2U, 4U, 8U}) {
    (void)streams.brought(wanted(page), page, count, 0, count);
    page += count;
  }
  EXPECT_EQ(streams.brought(wanted(page), page, 3, 0, 8), 7U);
  EXPECT_EQ(wanted(page + 3).pages, 8U);
  EXPECT_EQ(streams.brought(wanted(page + 3), page + 3, 512, 0, 8), 2U);
  EXPECT_EQ(wanted(page + 515).pages, 8U);
  EXPECT_EQ(streams.brought(wanted(page + 515), page + 515, 1, 0, 1), 511U);
  EXPECT_EQ(wanted(page + 516).pages, 2U);
}

TEST(Streams, ReadAheadFollowsSeveralSequencesAtOnce) {
  Sequence sequence(8);
  for (PageNumber i = 0; i < 4; ++i) (void)sequence.fault(1000 * i);
  for (PageNumber i = 0; i < 4; ++i) EXPECT_EQ(sequence.wanted(1000 * i + 1).pages, 2U);
}

TEST(Streams, AStreamGoesOnBehindPagesThatAreNear) {
  Sequence sequence(8, false, {101, 102, 103, 106});
  (void)sequence.fault(100);
  EXPECT_EQ(sequence.wanted(103).pages, 2U);
  EXPECT_EQ(sequence.wanted(104).pages, 2U);
  EXPECT_EQ(sequence.wanted(105).pages, 1U) << "104 was skipped";
  (void)sequence.fault(104);
  EXPECT_EQ(sequence.wanted(106).pages, 4U);
  EXPECT_EQ(sequence.wanted(107).pages, 4U);
}

TEST(Streams, AStreamGoesOnBehindManyPagesThatAreNear) {
  std::set<PageNumber> near;
  for (PageNumber page = 101; page < 101 + 2 * Streams::farthest; ++page) near.insert(page);
  Sequence sequence(8, false, near);
  (void)sequence.fault(100);
  const PageNumber farthest = 101 + Streams::farthest;
  EXPECT_EQ(sequence.wanted(farthest - 1).pages, 2U);
  EXPECT_EQ(sequence.wanted(farthest).pages, 1U);
}

TEST(Streams, AThreadWaitsForTheFirstPagesOnly) {
  Sequence sequence(128, true);
  for (int i = 0; i < 7; ++i) EXPECT_LE(sequence.fault().at_once, 16U);
  EXPECT_EQ(sequence.next(), 100U + 127);
  EXPECT_EQ(sequence.fault().at_once, 16U);
  EXPECT_EQ(sequence.next(), 100U + 255);
}

TEST(Streams, AFasterThreadWaitsForMorePagesAtOnce) {
  Sequence sequence(128);
  for (int i = 0; i < 20; ++i) (void)sequence.fault();
  const PageNumber before = sequence.next();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(sequence.fault().at_once, 32U);
  EXPECT_EQ(sequence.next(), before + 8 * 32);
  sequence.follows(true);
  EXPECT_EQ(sequence.fault().at_once, 32U);
  for (int i = 0; i < 2; ++i) (void)sequence.fault();  // the first may have been amid a run
  EXPECT_EQ(sequence.fault().at_once, 16U);
}

TEST(Streams, PagesThatCannotFollowAreThoseOfOneStreamOnly) {
  Streams streams(128);
  for (const PageNumber page : {100U, 5000U})
    (void)streams.brought(streams.wanted(page, none_near), page, 16, 40, 64);
  const Streams::Part first = streams.next_part();
  streams.advance(3, 3);
  while (streams.next_part().first != first.first + 3) continue;
  streams.advance(0, 0);
  const Streams::Part second = streams.next_part();
  EXPECT_EQ(first.first + second.first, 116U + 5016U);
  streams.advance(second.count, second.count);
  EXPECT_EQ(streams.next_part().first, second.first + second.count);
  EXPECT_EQ(streams.wanted(first.first + 3, none_near).pages, 128U);
  streams.stop();
  EXPECT_EQ(streams.next_part().count, 0U);
}

}  // namespace test_file
}  // namespace nearfar::tier
