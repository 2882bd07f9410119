// The record of what a policy was told, which all processes of a tree append to.

#include "tier/pager/fault_log.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "policy/offline/owned.h"
#include "tier/pager/page_table.h"

namespace nearfar::tier {
namespace test_file {

/// A mapping of `mapped` bytes of a file that has only `backed` bytes of them.
class RecordFile {
 public:
  RecordFile(std::size_t mapped, std::size_t backed) : mapped_(mapped) {
    const int file = ::memfd_create("record", 0);
    if (::ftruncate(file, static_cast<off_t>(backed)) != 0) throw std::runtime_error("ftruncate");
    at_ = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (at_ == MAP_FAILED) throw std::runtime_error("mmap");
  }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  ~RecordFile() { ::munmap(at_, mapped_); }

  [[nodiscard]] FaultRecordHead* head() const { return static_cast<FaultRecordHead*>(at_); }
  [[nodiscard]] FaultLog log() const { return {head(), mapped_}; }
  [[nodiscard]] std::uint64_t word(std::size_t event) const {
    return reinterpret_cast<const std::uint64_t*>(head() + 1)[event];
  }

 private:
  std::size_t mapped_;
  void* at_;
};

constexpr std::size_t piece = std::size_t{64} << 10U;

constexpr std::uint64_t event(FaultEvent kind, std::uint64_t page, std::uint64_t process) {
  return static_cast<std::uint64_t>(kind) << 60U | page << 32U | process;
}

TEST(FaultLog, HasAWordForEachEventWithItsPageAndProcess) {
  const RecordFile file(piece, piece);
  FaultLog log = file.log();
  log.become(77);
  log.add(FaultEvent::fault, 5);
  log.become(78);
  log.add(FaultEvent::evicted, 6);
  EXPECT_EQ(file.head()->events.load(), 2U);
  EXPECT_EQ(file.word(0), event(FaultEvent::fault, 5, 77));
  EXPECT_EQ(file.word(1), event(FaultEvent::evicted, 6, 78));
}

TEST(FaultLog, CountsEventsForWhichTheFileHasNoRoom) {
  const std::size_t bytes = sizeof(FaultRecordHead) + 2 * sizeof(std::uint64_t);
  const RecordFile file(bytes, os::page_bytes);
  FaultLog log = file.log();
  for (policy::PageIndex page = 0; page < 3; ++page) log.add(FaultEvent::fault, page);
  EXPECT_EQ(file.head()->events.load(), 3U);
  EXPECT_EQ(file.word(1), event(FaultEvent::fault, 1, 0));
  EXPECT_EQ(file.word(2), 0U);
}

TEST(FaultLog, GoesOnFromPieceToPieceOfItsFile) {
  const RecordFile file(4 * piece, 4 * piece);
  FaultLog log = file.log();
  const std::size_t most = (4 * piece - sizeof(FaultRecordHead)) / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < most; ++i)
    log.add(FaultEvent::ahead, static_cast<policy::PageIndex>(i));
  for (std::size_t i = 0; i < most; i += 1000)
    EXPECT_EQ(file.word(i), event(FaultEvent::ahead, i, 0)) << i;
  EXPECT_EQ(file.word(most - 1), event(FaultEvent::ahead, most - 1, 0));
}

TEST(FaultLog, StopsWhereTheFileSystemHasNoRoomForMore) {
  const RecordFile file(4 * piece, piece);
  FaultLog log = file.log();
  const std::size_t roomy = (piece - sizeof(FaultRecordHead)) / sizeof(std::uint64_t);
  const std::size_t all = 2 * piece / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < all; ++i)
    log.add(FaultEvent::fault, static_cast<policy::PageIndex>(i));
  EXPECT_EQ(file.head()->events.load(), all);
  EXPECT_EQ(file.word(roomy - 1), event(FaultEvent::fault, roomy - 1, 0));
}

TEST(FaultLog, HasWhatAPageTableTellsItsPolicy) {
  const RecordFile file(piece, piece);
  std::vector<Page> pages(2 * PageTable::group);
  std::vector<std::uint32_t> ranks(2), of_rank(2);
  std::uint32_t in_block = 0;
  policy::OwnedReplacement policy("fifo", 100);
  policy.reserve(static_cast<policy::PageIndex>(pages.size()));
  PageTable table(pages.data(), {ranks.data(), of_rank.data(), &in_block}, pages.size(), *policy,
                  100);
  table.log() = file.log();
  table.use(600);  // pages of the group that is used first come first in the record
  table.push(600);
  table.push(601, false);
  EXPECT_EQ(table.evict(), 600U);
  table.refuse(600);
  EXPECT_EQ(table.evict(), 601U);
  table.take_back(601);
  table.rename(601, 602);
  table.remove(600);
  using enum FaultEvent;
  const std::vector<std::pair<FaultEvent, std::uint64_t>> expected{
      {fault, 88},         {ahead, 89},      {evicted, 88},  {refused, 88}, {evicted, 89},
      {second_chance, 89}, {moved_from, 89}, {moved_to, 90}, {released, 88}};
  ASSERT_EQ(file.head()->events.load(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(file.word(i), event(expected[i].first, expected[i].second, 0)) << i;
}

}  // namespace test_file
}  // namespace nearfar::tier
