#include <gtest/gtest.h>

#include "sim/nvdimm/page_reads.h"

namespace nearfar::sim::nvdimm {
namespace test_file {

using Index = PageReads::Index;

TEST(PageReads, AReadThatNothingWaitsForNeedsNoLook) {
  PageReads reads(2);
  const Index place = reads.place_of(7, Tick(0));
  reads.ask(place);
  reads.start(place, Tick(100));
  EXPECT_TRUE(reads.next_look(place).is_never());
  EXPECT_TRUE(reads.has_room(place, Tick(0)));
}

TEST(PageReads, APageIsFullUntilTheFirstOfItsReadsToEndHasEnded) {
  PageReads reads(2);
  const Index place = reads.place_of(7, Tick(0));
  for (const Tick end : {Tick(300), Tick(200)}) {
    reads.ask(place);
    reads.start(place, end);
  }
  EXPECT_FALSE(reads.has_room(place, Tick(199)));
  EXPECT_TRUE(reads.has_room(place, Tick(200)));
  EXPECT_TRUE(reads.has_room(reads.place_of(8, Tick(0)), Tick(0)));
}

TEST(PageReads, ThoseThatWaitAreLookedAtOnceForEachEnd) {
  PageReads reads(1);
  const Index place = reads.place_of(7, Tick(0));
  reads.ask(place);
  reads.first_waiting(place) = reads.last_waiting(place) = 3;
  EXPECT_TRUE(reads.next_look(place).is_never()) << "when the read ends is not known";
  reads.start(place, Tick(100));
  EXPECT_EQ(reads.next_look(place), Tick(100));
  EXPECT_TRUE(reads.next_look(place).is_never()) << "said already";
  reads.look(place);
  EXPECT_TRUE(reads.has_room(place, Tick(100)));
}

TEST(PageReads, APlaceServesAnotherPageOnlyWhenNothingOfItsPageIsReadOrWaits) {
  PageReads reads(1);
  const Index place = reads.place_of(7, Tick(0));
  reads.ask(place);
  EXPECT_NE(reads.place_of(8, Tick(50)), place);
  reads.start(place, Tick(100));
  reads.first_waiting(place) = 3;
  const Index another = reads.place_of(9, Tick(100));
  EXPECT_NE(another, place);
  reads.first_waiting(place) = PageReads::none;
  reads.ask(another);
  EXPECT_EQ(reads.place_of(10, Tick(100)), place);
}

}  // namespace test_file
}  // namespace nearfar::sim::nvdimm
