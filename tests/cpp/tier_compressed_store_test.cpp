// Far memory that is compressed: codecs, and the store that uses them.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "far_fixture.h"
#include "tier/far/codec.h"
#include "tier/far/compressed_store.h"

namespace nearfar::tier {
namespace test_file {

class Codecs : public testing::TestWithParam<Compression> {};
INSTANTIATE_TEST_SUITE_P(All, Codecs, testing::Values(Compression::lz4, Compression::zstd),
                         [](const auto& codec) { return name_of(codec.param); });

TEST_P(Codecs, APageIsMadeAgainFromFewerBytes) {
  Codec codec;
  codec.start(GetParam());
  Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    const std::size_t random = rng.below(3500);
    const PageContents page = page_with(rng, random);
    PageContents packed{};
    const std::size_t length = codec.pack(page.data(), packed.data(), packed.size());
    ASSERT_GT(length, 0U);
    ASSERT_LT(length, random + 100);
    PageContents again{};
    again.fill(7);
    ASSERT_TRUE(codec.unpack(packed.data(), length, again.data()));
    ASSERT_EQ(again, page);
  }
}

TEST_P(Codecs, APageOfNoiseDoesNotFit) {
  Codec codec;
  codec.start(GetParam());
  Rng rng(4);
  const PageContents page = page_with(rng, os::page_bytes);
  PageContents packed{};
  EXPECT_EQ(codec.pack(page.data(), packed.data(), packed.size() - 1), 0U);
}

TEST_P(Codecs, BytesThatWereNotPackedAreRefused) {
  Codec codec;
  codec.start(GetParam());
  Rng rng(5);
  const PageContents page = page_with(rng, 1000);
  PageContents packed{};
  const std::size_t length = codec.pack(page.data(), packed.data(), packed.size());
  PageContents again{};
  EXPECT_FALSE(codec.unpack(packed.data(), length / 2, again.data()));
  const PageContents noise = page_with(rng, os::page_bytes);
  EXPECT_FALSE(codec.unpack(noise.data(), length, again.data()));
}

/// A store over a tree's far file, and the entries of pages in it.
class Compressed {
 public:
  Compressed(FarTree& tree, Compression compression)
      : store_(make_compressed_store(storage_, tree.memory(compression))) {}

  FarStore& operator*() { return store_; }
  FarStore* operator->() { return &store_; }
  FarStore::Written write(Page& page, const PageContents& contents) {
    const FarStore::Outgoing outgoing{&page, contents.data()};
    return store_.write({&outgoing, 1});
  }
  PageContents read(const Page& page) {
    PageContents contents = page_of(7);
    traffic_ = store_.read({&page, 1}, contents.data());
    return contents;
  }
  [[nodiscard]] FarStore::Traffic last_read() const { return traffic_; }
  [[nodiscard]] Chunks::Class class_of(const Page& page) {
    return store_.slots().chunks().class_of(page.slot());
  }

 private:
  FarStoreStorage storage_;
  FarStore& store_;
  FarStore::Traffic traffic_;
};

void takes_no_more_room_than_it_says(Compression compression, FarTree& tree) {
  Compressed store(tree, compression);
  Rng rng(8);
  std::vector<std::pair<Page, PageContents>> written;
  const auto put = [&](std::size_t random) {
    written.emplace_back(Page{}, page_with(rng, random));
    auto& [page, contents] = written.back();
    const FarStore::Written done = store.write(page, contents);
    EXPECT_EQ(done.traffic.bytes, store->slots().chunks().slot_bytes(page.slot()));
    EXPECT_EQ(done.traffic.pages, 1U);
  };
  for (int i = 0; i < 640; ++i) put(100);
  EXPECT_LE(tree.file_bytes(), 640 * 2 * Chunks::step_bytes + os::page_bytes);
  for (int i = 0; i < 640; ++i) put(8 + rng.below(os::page_bytes - 7));
  for (const auto& [page, contents] : written) {
    ASSERT_EQ(store.read(page), contents);
    EXPECT_EQ(store.last_read().bytes, store->slots().chunks().slot_bytes(page.slot()));
  }
  for (auto& [page, contents] : written) store->discard(page);
  EXPECT_EQ(tree.file_bytes(), 0U);
}

TEST_P(Codecs, AFarFileTakesNoMoreRoomThanItsSlotsSay) {
  FarTree tree;
  takes_no_more_room_than_it_says(GetParam(), tree);
}

TEST_P(Codecs, AFarFileInMemoryTakesNoMoreRoomEither) {
  FarTree tree;
  tree.seal();
  takes_no_more_room_than_it_says(GetParam(), tree);
}

TEST(CompressedStore, APageThatIsOneRepeatedWordTakesNoChunk) {
  FarTree tree;
  Compressed store(tree, Compression::lz4);
  Page page{};
  const FarStore::Written written = store.write(page, page_of(0x5a));
  EXPECT_EQ(written.filled, 1U);
  EXPECT_EQ(written.traffic.pages, 0U);
  EXPECT_TRUE(page.filled());
  EXPECT_EQ(tree.totals->chunks.load(), 0U);
  EXPECT_EQ(store.read(page), page_of(0x5a));
  EXPECT_EQ(store.last_read().pages, 0U) << "nothing moves";
}

TEST(CompressedStore, APageThatBecomesOneRepeatedWordReleasesItsSlot) {
  FarTree tree;
  Compressed store(tree, Compression::lz4);
  Rng rng(9);
  Page page{};
  (void)store.write(page, page_with(rng, 500));
  EXPECT_EQ(tree.control->slots_used.load(), 1U);
  (void)store.write(page, page_of(1));
  EXPECT_EQ(tree.control->slots_used.load(), 0U);
}

TEST(CompressedStore, APageOfTheSameSizeKeepsItsSlot) {
  FarTree tree;
  Compressed store(tree, Compression::lz4);
  Rng rng(10);
  Page page{};
  (void)store.write(page, page_with(rng, 1000));
  const Slot slot = page.slot();
  const PageContents other = page_with(rng, 1000);
  (void)store.write(page, other);
  EXPECT_EQ(page.slot(), slot);
  EXPECT_EQ(store.read(page), other);
}

TEST(CompressedStore, APageOfAnotherSizeMovesToAnotherSlot) {
  FarTree tree;
  Compressed store(tree, Compression::lz4);
  Rng rng(11);
  Page page{};
  (void)store.write(page, page_with(rng, 100));
  const Chunks::Class small = store.class_of(page);
  const PageContents large = page_with(rng, 3000);
  (void)store.write(page, large);
  EXPECT_GT(store.class_of(page), small);
  EXPECT_EQ(tree.control->slots_used.load(), 1U);
  EXPECT_EQ(store.read(page), large);
}

TEST(CompressedStore, APageThatSavesLessThanAnEighthIsStoredAsItIs) {
  FarTree tree;
  tree.seal();
  Compressed store(tree, Compression::lz4);
  Rng rng(12);
  const PageContents noise = page_with(rng, os::page_bytes);
  Page page{};
  (void)store.write(page, noise);
  EXPECT_EQ(store.class_of(page), Chunks::classes);
  PageContents buffer{};
  const FarStore::Run run = store->view({&page, 1}, buffer.data());
  EXPECT_NE(run.contents, buffer.data()) << "it is read where it lies";
  EXPECT_EQ(std::memcmp(run.contents, noise.data(), noise.size()), 0);
}

TEST(CompressedStore, SeveralPagesAreViewedInTheBuffer) {
  FarTree tree;
  Compressed store(tree, Compression::zstd);
  Rng rng(13);
  std::array<Page, 3> pages{};
  const std::array contents{page_with(rng, 100), page_of(3), page_with(rng, 4096)};
  for (std::size_t i = 0; i < pages.size(); ++i) (void)store.write(pages[i], contents[i]);
  std::array<PageContents, 3> buffer{};
  const FarStore::Run run = store->view(pages, buffer[0].data());
  EXPECT_EQ(run.contents, buffer[0].data());
  EXPECT_EQ(run.pages, 3U);
  EXPECT_EQ(run.traffic.pages, 2U) << "one is only a word";
  EXPECT_EQ(buffer, contents);
}

TEST(CompressedStore, OnlyPagesThatAreComparedAreRead) {
  FarTree tree;
  Compressed store(tree, Compression::lz4);
  Rng rng(14);
  std::array<Page, 2> pages{};
  const std::array contents{page_with(rng, 100), page_with(rng, 200)};
  for (std::size_t i = 0; i < pages.size(); ++i) (void)store.write(pages[i], contents[i]);
  const std::array<const Page*, 2> compared{nullptr, &pages[1]};
  std::array<PageContents, 2> buffer{};
  std::array<const void*, 2> copies{};
  EXPECT_EQ(store->find_copies(compared, buffer[0].data(), copies).pages, 1U);
  EXPECT_EQ(std::memcmp(copies[1], contents[1].data(), os::page_bytes), 0);
  EXPECT_EQ(buffer[0], PageContents{});
}

TEST(CompressedStore, NoPageIsReadInPlaceByOtherThreads) {
  FarTree tree;
  Compressed store(tree, Compression::lz4);
  Rng rng(15);
  Page page{};
  (void)store.write(page, page_with(rng, 4096));
  EXPECT_EQ(store->in_place(page), nullptr);
  store->expect({&page, 1});
}

TEST(CompressedStore, ADamagedFileEndsTheProgram) {
  FarTree tree;
  Compressed store(tree, Compression::lz4);
  Rng rng(16);
  Page page{};
  (void)store.write(page, page_with(rng, 1000));
  const std::array<unsigned char, 2> length{0xff, 0xff};
  const auto at = static_cast<off_t>(store->slots().chunks().offset(page.slot()));
  ASSERT_EQ(::pwrite(tree.file, length.data(), length.size(), at), 2);
  EXPECT_EXIT((void)store.read(page), ::testing::ExitedWithCode(1), "the far file is damaged");
}

TEST(CompressedStore, AFullFarFileEndsTheProgram) {
  FarTree tree;
  tree.control->far_slots = Chunks::slots_a_chunk;
  Compressed store(tree, Compression::lz4);
  Rng rng(17);
  const PageContents contents = page_with(rng, 100);
  std::vector<Page> pages(Chunks::slots_a_chunk);
  for (Page& page : pages) (void)store.write(page, contents);
  Page another{};
  EXPECT_EXIT((void)store.write(another, contents), ::testing::ExitedWithCode(1),
              "the far file is full");
}

}  // namespace test_file
}  // namespace nearfar::tier
