// What processes of a run tell each other: kept for all that map the file, never lowered, and never
// given out under another key.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "frontend/qemu/shared_table.h"

namespace nearfar::frontend::qemu {
namespace test_file {

class SharedTableFile : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = ::testing::TempDir() + "shared-table-" + std::to_string(getpid());
    make(1 << 17);
  }
  void make(std::uintmax_t places) const {
    std::ofstream(file_).close();
    std::filesystem::resize_file(file_, places * 16);
  }
  void TearDown() override { std::filesystem::remove(file_); }

  std::string file_;
};

TEST_F(SharedTableFile, ASharedTableKeepsTheHighestThatAnyProcessHasTold) {
  SharedTable table(file_);
  const Key key('p', 7);
  const Key counted('n', 7);
  EXPECT_EQ(table.get(key), 0u);
  constexpr std::uint64_t children = 4;
  constexpr std::uint64_t rounds = 2000;
  for (std::uint64_t child = 0; child < children; ++child) {
    if (fork() != 0) continue;
    SharedTable own(file_);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      own.raise(key, i * children + child);
      own.increment(counted);
    }
    _exit(0);
  }
  for (std::uint64_t child = 0; child < children; ++child) wait(nullptr);
  EXPECT_EQ(table.get(key), rounds * children - 1);
  EXPECT_EQ(table.get(counted), rounds * children);
  table.raise(key, 5);
  EXPECT_EQ(table.get(key), rounds * children - 1);
  table.set(key, 5);
  EXPECT_EQ(table.get(key), 5u);
}

TEST_F(SharedTableFile, ASharedTableCountsEntriesWithoutAPlaceAndNeverMixesUpKeys) {
  make(256);
  SharedTable table(file_);
  constexpr std::uint64_t keys = 1000;
  for (std::uint64_t i = 1; i <= keys; ++i) table.raise(Key('p', i), i);
  std::uint64_t kept = 0;
  for (std::uint64_t i = 1; i <= keys; ++i) {
    const std::uint64_t found = table.get(Key('p', i));
    EXPECT_TRUE(found == 0 || found == i) << found;
    kept += found == i ? 1 : 0;
  }
  EXPECT_GT(kept, 128u);
  EXPECT_LE(kept, 256u);
  EXPECT_EQ(table.lost(), keys - kept);
}

TEST_F(SharedTableFile, ASharedTableSaysWhyItsFileCannotBeMade) {
  EXPECT_THROW(SharedTable("/no/such/folder/times"), InputError);
}

}  // namespace test_file
}  // namespace nearfar::frontend::qemu
