// The far file: read and written by system calls, or in place where it lies in memory.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "far_fixture.h"
#include "tier/far/far_file.h"

namespace nearfar::tier {
namespace test_file {

constexpr std::size_t slots = 64;

/// A file in memory of so many slots, with these seals; closed at the end.
class MemoryFile {
 public:
  MemoryFile(std::size_t size, int seals)
      : descriptor_(::memfd_create("far", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(::ftruncate(descriptor_, static_cast<off_t>(size * os::page_bytes)), 0);
    EXPECT_EQ(::fcntl(descriptor_, F_ADD_SEALS, seals), 0);
  }
  ~MemoryFile() { close(); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

TEST(FarFile, AFileThatCannotBeCutShortIsWrittenInPlace) {
  MemoryFile memory(slots, F_SEAL_SHRINK);
  FarFile file(memory.descriptor());
  EXPECT_FALSE(file.sealed());
  file.map(slots);
  ASSERT_TRUE(file.sealed());
  const PageContents first = page_of(1);
  const PageContents second = page_of(2);
  file.write(9, first.data(), 1);   // behind the end of what was written
  file.write(5, second.data(), 1);  // in front of it, into a hole
  file.write(9, second.data(), 1);
  file.write(9, first.data(), 1);
  for (const auto& [slot, expected] : {std::pair{9, first}, {5, second}, {6, page_of(0)}}) {
    PageContents read;
    file.read(static_cast<Slot>(slot), read.data(), 1);
    EXPECT_EQ(read, expected) << slot;
    EXPECT_EQ(std::memcmp(file.at(static_cast<Slot>(slot)), expected.data(), expected.size()), 0);
    PageContents by_descriptor;
    const auto offset = static_cast<off_t>(slot * os::page_bytes);
    EXPECT_EQ(::pread(memory.descriptor(), by_descriptor.data(), os::page_bytes, offset),
              static_cast<ssize_t>(os::page_bytes));
    EXPECT_EQ(by_descriptor, expected) << slot;
  }
  EXPECT_EQ(file.view_at(9 * os::page_bytes, nullptr, 8), file.at(9));
  memory.close();  // system calls fail from here on
  file.write(8, second.data(), 1);
  PageContents read;
  file.read(8, read.data(), 1);
  EXPECT_EQ(read, second);
}

TEST(FarFile, AFileThatCanBeCutShortIsReadIntoABuffer) {
  const MemoryFile memory(slots, 0);
  FarFile file(memory.descriptor());
  file.map_if_sealed(slots);
  EXPECT_FALSE(file.mapped());
  file.map(slots);
  EXPECT_TRUE(file.mapped());
  EXPECT_FALSE(file.sealed());
  const PageContents first = page_of(1);
  file.write(9, first.data(), 1);
  PageContents buffer{};
  EXPECT_EQ(file.view_at(9 * os::page_bytes, buffer.data(), buffer.size()), buffer.data());
  EXPECT_EQ(buffer, first);
}

TEST(FarFile, AFileOnTmpfsIsWrittenByCallsFirstAndThenInPlace) {
  MemoryFile memory(0, 0);
  FarFile file(memory.descriptor());
  file.map(slots);
  const PageContents first = page_of(1);
  const PageContents second = page_of(2);
  file.write(9, first.data(), 1);
  file.expect_written();
  memory.close();  // system calls fail from here on
  file.write(9, second.data(), 1);
  EXPECT_EQ(std::memcmp(file.at(9), second.data(), second.size()), 0);
}

TEST(FarFile, AFileIsMappedBetweenTwoPagesWithoutAccess) {
  const MemoryFile memory(slots, F_SEAL_SHRINK);
  FarFile file(memory.descriptor());
  file.map(slots);
  unsigned char byte = 0;
  const auto can_be_read = [&byte](const unsigned char* at) {
    const iovec here{.iov_base = &byte, .iov_len = 1};
    const iovec there{.iov_base = const_cast<unsigned char*>(at), .iov_len = 1};
    return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1;
  };
  const unsigned char* const begin = file.at(0);
  const unsigned char* const end = file.at(slots);
  EXPECT_TRUE(can_be_read(begin) && can_be_read(end - 1));
  EXPECT_FALSE(can_be_read(begin - 1) || can_be_read(end));
}

TEST(FarFile, AFileOnTmpfsThatWasCutShortEndsTheProgram) {
  const MemoryFile memory(0, 0);
  FarFile file(memory.descriptor());
  file.map(slots);
  file.write(9, page_of(1).data(), 1);
  ASSERT_EQ(::ftruncate(memory.descriptor(), 9 * os::page_bytes), 0);
  file.expect(8);
  EXPECT_EXIT(file.expect(9), ::testing::ExitedWithCode(1), "the far file was cut short");
  EXPECT_EXIT(file.expect_written(), ::testing::ExitedWithCode(1), "the far file was cut short");
}

TEST(FarFile, AFileThatIsTooSmallOrMayNotBeWrittenIsNotMapped) {
  for (const auto& [size, seals] : {std::pair<std::size_t, int>{slots - 1, F_SEAL_SHRINK},
                                    {slots, F_SEAL_GROW},
                                    {slots, F_SEAL_SHRINK | F_SEAL_WRITE}}) {
    const MemoryFile memory(size, seals);
    FarFile file(memory.descriptor());
    file.map_if_sealed(slots);
    EXPECT_FALSE(file.mapped()) << size << " slots, seals " << seals;
  }
}

TEST(FarFile, AFileThatWasCutShortEndsTheProgramThatReadsIt) {
  const MemoryFile memory(1, 0);
  const FarFile file(memory.descriptor());
  PageContents read;
  EXPECT_EXIT(file.read(1, read.data(), 1), ::testing::ExitedWithCode(1),
              "the far file was cut short");
}

TEST(FarFile, AFileThatCannotBeReadOrWrittenEndsTheProgram) {
  MemoryFile memory(1, 0);
  FarFile file(memory.descriptor());
  PageContents page = page_of(1);
  memory.close();
  EXPECT_EXIT(file.read(0, page.data(), 1), ::testing::ExitedWithCode(1),
              "the far file cannot be read");
  EXPECT_EXIT(file.write(0, page.data(), 1), ::testing::ExitedWithCode(1),
              "the far file cannot be written");
}

TEST(FarFile, AFullFileSystemEndsTheProgram) {
  FarFile file(::open("/dev/full", O_RDWR | O_CLOEXEC));
  const PageContents page = page_of(1);
  EXPECT_EXIT(file.write(0, page.data(), 1), ::testing::ExitedWithCode(1),
              "the far file is full; give --far more room");
  ::close(file.descriptor());
}

TEST(FarFile, ALimitOnFilesDoesNotKeepASealedFileFromBeingWritten) {
  const MemoryFile memory(slots, F_SEAL_SHRINK);
  FarFile file(memory.descriptor());
  file.map(slots);
  const PageContents page = page_of(1);
  const auto written = [&file, &page] {
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);  // as the pager's thread has them
    file.write(3, page.data(), 1);
    return std::memcmp(file.at(3), page.data(), page.size()) == 0;
  };
  EXPECT_EXIT(std::_Exit(written() ? 0 : 2), ::testing::ExitedWithCode(0), "");
}

}  // namespace test_file
}  // namespace nearfar::tier
