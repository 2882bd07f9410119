#include "probe/memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace nearfar::probe {
namespace test_file {

namespace fs = std::filesystem;

/// A folder of its own for each test.
class Places : public testing::Test {
 protected:
  Places() {
    std::string name = testing::TempDir() + "nearfar_memory_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Places() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  [[nodiscard]] static std::string text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] bool holds_nothing() const { return fs::is_empty(folder_); }

 private:
  fs::path folder_;
};

std::string refused(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

Memory mapped(const std::string& path, Bytes bytes, bool destructive = false) {
  return Memory({.bytes = bytes, .path = path, .destructive = destructive});
}

TEST(AnonymousMemory, AnonymousMemoryBeginsAtAHugePageWhateverItsPagesAre) {
  for (const Bytes bytes : {Bytes{1}, Bytes{4096}, Bytes{5} << 20}) {
    const Memory memory({.bytes = bytes});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.base()) % (2 << 20), 0u);
    EXPECT_EQ(memory.size(), bytes);
    EXPECT_EQ(memory.base()[bytes - 1], std::byte{0});
    EXPECT_FALSE(memory.synchronous());
  }
}

TEST(AnonymousMemory, AnonymousMemoryOfImpossibleSizeOrPagesOrNodeIsRefused) {
  EXPECT_NE(refused([] { const Memory memory({.bytes = 0}); }).find("0 B"), std::string::npos);
  EXPECT_NE(
      refused([] { const Memory memory({.bytes = Bytes{1} << 62}); }).find("cannot be mapped"),
      std::string::npos);
  EXPECT_NE(refused([] {
              const Memory memory({.bytes = 4096, .node = 1000});
            }).find("no memory on node 1000"),
            std::string::npos);
  EXPECT_NE(refused([] { (void)parse_pages("4kb"); }).find("expected 4KiB, 2MiB or 1GiB"),
            std::string::npos);
}

TEST_F(Places, AFreshFileLosesItsNameAtOnceAndForGood) {
  {
    const Memory memory = mapped(path("fresh"), 1 << 20);
    EXPECT_TRUE(holds_nothing());
    memory.base()[(1 << 20) - 1] = std::byte{1};
  }
  EXPECT_TRUE(holds_nothing());
}

TEST_F(Places, AnEmptyFileIsEmptyAgainAfterwards) {
  const std::string file = written("empty", "");
  {
    const Memory memory = mapped(file, 1 << 20);
    memory.base()[0] = std::byte{1};
    EXPECT_EQ(fs::file_size(file), 1u << 20);
  }
  EXPECT_EQ(fs::file_size(file), 0u);
}

TEST_F(Places, AFileThatHoldsSomethingIsRefusedAndKeepsIt) {
  const std::string file = written("full", "precious");
  EXPECT_EQ(refused([&] { mapped(file, 4); }), "file: " + file +
                                                   " holds 8 B, which measuring destroys; "
                                                   "--destructive " +
                                                   file + " allows it");
  EXPECT_EQ(text(file), "precious");
}

TEST_F(Places, AFileThatMayBeDestroyedIsUsedWithinItsSize) {
  const std::string file = written("full", std::string(8192, 'x'));
  EXPECT_EQ(inspect(file, true).capacity, 8192u);
  mapped(file, 8192, true).base()[8191] = std::byte{'y'};
  EXPECT_EQ(fs::file_size(file), 8192u);
  EXPECT_EQ(text(file).back(), 'y');
  EXPECT_EQ(refused([&] { mapped(file, 8193, true); }),
            "file: " + file + " is too small: 8193 B are needed, 8192 B are there");
}

TEST_F(Places, AFileInUseIsRefused) {
  const std::string file = written("shared", "");
  const Descriptor other(open(file.c_str(), O_RDWR));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  EXPECT_NE(refused([&] { mapped(file, 4096); }).find("is in use"), std::string::npos);
}

TEST_F(Places, AFileThatIsNoPlaceForMemoryIsRefusedByName) {
  const auto reason = [](const std::string& path) {
    return refused([&] { (void)inspect(path, true); });
  };
  EXPECT_NE(reason(path("")).find("is a folder; name a file in it"), std::string::npos);
  EXPECT_NE(reason(path("no/such")).find("its folder does not exist"), std::string::npos);
  EXPECT_NE(reason("/dev/null").find("is a device, but not one of memory"), std::string::npos);
  EXPECT_NE(reason("/dev/nearfar0").find("no such device"), std::string::npos);
  EXPECT_NE(reason("/proc/nearfar").find("its folder holds no files"), std::string::npos);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(reason(path("pipe")).find("neither a file nor a memory device"), std::string::npos);
}

TEST_F(Places, MoreThanTheFileSystemHoldsIsRefusedBeforeAnythingIsWritten) {
  EXPECT_NE(refused([&] { mapped(path("fresh"), Bytes{1} << 60); }).find("is too small"),
            std::string::npos);
  EXPECT_TRUE(holds_nothing());
}

TEST(Refusals, RefusalsAreOneLineThatNamesThePath) {
  for (const auto& [error, reason] :
       {std::pair{ENOENT, "does not exist"}, std::pair{EACCES, "may not be written"},
        std::pair{EROFS, "is read-only"}, std::pair{EBUSY, "is in use"},
        std::pair{ENOSPC, "without enough space"}, std::pair{EIO, "cannot be used: "}}) {
    const std::string line = refusal("a/b", error);
    EXPECT_TRUE(line.starts_with("file: a/b ")) << line;
    EXPECT_NE(line.find(reason), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

}  // namespace test_file
}  // namespace nearfar::probe
