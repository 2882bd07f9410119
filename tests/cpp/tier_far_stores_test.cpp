// The far stores that keep pages as they are, and the list of all kinds.

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "far_fixture.h"
#include "tier/far/far_stores.h"
#include "tier/far/file_store.h"
#include "tier/far/memory_store.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {
namespace test_file {

/// A file on a file system that does not lie in memory, gone at the end. The repository does not.
class DiskFile {
 public:
  DiskFile() : name_(std::string(NEARFAR_TEST_FOLDER) + "/far-XXXXXX") {
    descriptor_ = ::mkstemp(name_.data());
    ::unlink(name_.c_str());
  }
  ~DiskFile() { ::close(descriptor_); }
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::string name_;
  int descriptor_ = -1;
};

/// A kind of store and whether it reads pages where they lie.
struct Kind {
  const char* name;
  MakeFarStore make;
  bool in_place;
};

class PlainStores : public testing::TestWithParam<Kind> {
 protected:
  [[nodiscard]] FarStore& store() { return store_; }
  /// Pages with different contents, written at once from memory side by side.
  void write_pages() {
    for (std::size_t i = 0; i < count; ++i) contents_[i] = page_of(static_cast<int>(i + 1));
    std::array<FarStore::Outgoing, count> outgoing;
    for (std::size_t i = 0; i < count; ++i) outgoing[i] = {&pages_[i], contents_[i].data()};
    const FarStore::Written written = store_.write(outgoing);
    EXPECT_EQ(written.traffic.pages, count);
    EXPECT_EQ(written.traffic.bytes, count * os::page_bytes);
    EXPECT_EQ(written.filled, 0U);
  }

  static constexpr std::size_t count = 4;
  FarTree tree_;
  FarStoreStorage storage_;
  FarStore& store_{GetParam().make(storage_, tree_.memory())};
  std::array<Page, count> pages_{};
  std::array<PageContents, count> contents_{};
  std::array<PageContents, count> buffer_{};
};
INSTANTIATE_TEST_SUITE_P(All, PlainStores,
                         testing::Values(Kind{"File", make_file_store, false},
                                         Kind{"Memory", make_memory_store, true}),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(PlainStores, PagesWrittenAtOnceAreReadAgain) {
  write_pages();
  const FarStore::Traffic traffic = store().read(pages_, buffer_[0].data());
  EXPECT_EQ(traffic.pages, count);
  EXPECT_EQ(traffic.bytes, count * os::page_bytes);
  EXPECT_EQ(buffer_, contents_);
}

TEST_P(PlainStores, PagesThatLeaveTogetherLieTogether) {
  write_pages();
  for (std::size_t i = 1; i < count; ++i) EXPECT_EQ(pages_[i].slot(), pages_[0].slot() + i);
}

TEST_P(PlainStores, APageThatIsWrittenAgainKeepsItsSlot) {
  write_pages();
  const Slot slot = pages_[2].slot();
  const PageContents other = page_of(99);
  const FarStore::Outgoing outgoing{&pages_[2], other.data()};
  (void)store().write({&outgoing, 1});
  EXPECT_EQ(pages_[2].slot(), slot);
  (void)store().read({&pages_[2], 1}, buffer_[0].data());
  EXPECT_EQ(buffer_[0], other);
}

TEST_P(PlainStores, PagesInSlotsApartAreReadOneByOne) {
  write_pages();
  std::swap(pages_[0].slot_plus_one, pages_[3].slot_plus_one);
  (void)store().read(pages_, buffer_[0].data());
  EXPECT_EQ(buffer_[0], contents_[3]);
  EXPECT_EQ(buffer_[1], contents_[1]);
  EXPECT_EQ(buffer_[3], contents_[0]);
}

TEST_P(PlainStores, AViewEndsWhereThePagesDoNotFollowEachOther) {
  write_pages();
  std::swap(pages_[2].slot_plus_one, pages_[3].slot_plus_one);
  const FarStore::Run run = store().view(pages_, buffer_[0].data());
  const std::size_t expected = GetParam().in_place ? 2 : count;  // the others are copied together
  EXPECT_EQ(run.pages, expected);
  EXPECT_EQ(run.traffic.pages, expected);
  EXPECT_EQ(run.contents == buffer_[0].data(), !GetParam().in_place);
  EXPECT_EQ(std::memcmp(run.contents, contents_[0].data(), 2 * os::page_bytes), 0);
  store().expect(std::span<const Page>(pages_).first(run.pages));
}

TEST_P(PlainStores, OnlyAStoreInMemoryShowsPagesWhereTheyLie) {
  write_pages();
  const void* const there = store().in_place(pages_[1]);
  ASSERT_EQ(there != nullptr, GetParam().in_place);
  if (there != nullptr) {
    EXPECT_EQ(std::memcmp(there, contents_[1].data(), os::page_bytes), 0);
  }
}

TEST_P(PlainStores, CopiesAreFoundOfThePagesThatAreAskedFor) {
  write_pages();
  const std::array<const Page*, count> asked{&pages_[0], nullptr, &pages_[2], &pages_[3]};
  std::array<const void*, count> copies{};
  const FarStore::Traffic traffic = store().find_copies(asked, buffer_[0].data(), copies);
  EXPECT_EQ(traffic.pages, 3U);
  EXPECT_EQ(copies[1], nullptr);
  for (const std::size_t i : {0U, 2U, 3U}) {
    EXPECT_EQ(std::memcmp(copies[i], contents_[i].data(), os::page_bytes), 0) << i;
  }
}

TEST_P(PlainStores, ADiscardedPageReleasesItsSlotUnlessItIsBorrowed) {
  write_pages();
  pages_[0].unchanged = true;
  store().discard(pages_[0]);
  EXPECT_FALSE(pages_[0].stored() || pages_[0].unchanged);
  EXPECT_EQ(tree_.control->slots_used.load(), count - 1);
  pages_[1].borrowed = true;  // the slot is the parent's
  store().discard(pages_[1]);
  EXPECT_FALSE(pages_[1].stored() || pages_[1].borrowed);
  EXPECT_EQ(tree_.control->slots_used.load(), count - 1);
}

TEST_P(PlainStores, FarMemoryThatIsFullEndsTheProgram) {
  tree_.control->far_slots = 2;
  const PageContents contents = page_of(1);
  std::array<Page, 3> pages{};
  for (Page& page : std::span(pages).first(2)) {
    const FarStore::Outgoing outgoing{&page, contents.data()};
    (void)store().write({&outgoing, 1});
  }
  const FarStore::Outgoing outgoing{&pages[2], contents.data()};
  EXPECT_EXIT((void)store().write({&outgoing, 1}), ::testing::ExitedWithCode(1),
              "the far file is full: all its slots are in use");
}

TEST(MemoryStore, AFileThatWasCutShortEndsTheProgramThatWouldReadIt) {
  const FarTree tree;
  FarStoreStorage storage;
  FarStore& store = make_memory_store(storage, tree.memory());
  Page page{};
  const PageContents contents = page_of(1);
  const FarStore::Outgoing outgoing{&page, contents.data()};
  (void)store.write({&outgoing, 1});
  ASSERT_EQ(::ftruncate(tree.file, 0), 0);
  PageContents buffer;
  EXPECT_EXIT((void)store.read({&page, 1}, buffer.data()), ::testing::ExitedWithCode(1),
              "the far file was cut short");
  EXPECT_EXIT(store.expect({&page, 1}), ::testing::ExitedWithCode(1), "the far file was cut short");
}

TEST(MemoryStore, AFileThatDoesNotLieInMemoryIsReadBySystemCalls) {
  const FarTree tree;
  const DiskFile disk;
  FarMemory memory = tree.memory();
  memory.descriptor = disk.descriptor();
  FarStoreStorage storage;
  FarStore& store = make_memory_store(storage, memory);
  Page page{};
  const PageContents contents = page_of(1);
  const FarStore::Outgoing outgoing{&page, contents.data()};
  (void)store.write({&outgoing, 1});
  EXPECT_EQ(store.in_place(page), nullptr);
  EXPECT_EQ(store.descriptor(), disk.descriptor());
}

TEST(FarStores, EachKindHasANameAndAMeaningOfItsOwn) {
  std::set<std::string_view> names;
  for (const FarStoreEntry& entry : far_stores()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.meaning.empty()) << entry.name;
    EXPECT_FALSE(entry.usage.empty()) << entry.name;
    EXPECT_EQ(far_stores()[far_store_named(entry.name)].name, entry.name);
  }
}

TEST(FarStores, AnUnknownKindEndsTheProgram) {
  EXPECT_EXIT((void)far_store_named("tape"), ::testing::ExitedWithCode(1),
              "no such kind of far memory");
}

TEST(FarStores, EveryKindOfBackingHasAName) {
  EXPECT_STREQ(name_of(FarBacking::file), "file");
  EXPECT_STREQ(name_of(FarBacking::memory), "memory");
  EXPECT_STREQ(name_of(FarBacking::node), "node");
}

TEST(FarStores, TheSharedSlotTablesLieBehindTheControlMemory) {
  constexpr std::uint64_t slots = 2 * Chunks::slots_a_chunk;
  const std::size_t length = control_memory_bytes(slots);
  const os::Place begin = os::reserve(length);
  ASSERT_NE(begin, 0U);
  auto& control = *os::pointer<Control>(begin);
  control.far_slots = slots;
  orders_of(control).compression = Compression::zstd;
  const FarMemory found = far_memory(control, 5);
  const auto at = [begin](const auto* there) { return os::place(there) - begin; };
  EXPECT_EQ(at(found.users), Control::bytes);
  EXPECT_EQ(at(found.chunks), Control::bytes + slots * sizeof(Slots::Users));
  EXPECT_EQ(at(found.totals), Chunks::Totals::offset);
  EXPECT_EQ(at(found.chunks + 2), length);
  EXPECT_EQ(found.descriptor, 5);
  EXPECT_EQ(found.compression, Compression::zstd);
  os::unmap(begin, length);
}

}  // namespace test_file
}  // namespace nearfar::tier
