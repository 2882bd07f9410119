// DAMON as a detector of reads: its files are a folder of this test's own, with what the kernel
// would have in it.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tier/attach/os/damon.h"
#include "tier/attach/watched_memory.h"

namespace nearfar::tier::attach {
namespace test_file {

namespace files = std::filesystem;

constexpr std::uint64_t second = 1'000'000'000;

std::string said(const files::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class DamonTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = files::temp_directory_path() /
            ("nearfar-damon-" + std::to_string(::getpid()) + "-" +
             testing::UnitTest::GetInstance()->current_test_info()->name());
    files::remove_all(root_);
    put("kdamonds/nr_kdamonds", "0\n");
    put("kdamonds/0/state", "off\n");
    put("kdamonds/0/contexts/nr_contexts", "0\n");
    for (const char* name :
         {"operations", "targets/nr_targets", "targets/0/pid_target",
          "targets/0/regions/nr_regions", "monitoring_attrs/intervals/sample_us",
          "monitoring_attrs/intervals/aggr_us", "monitoring_attrs/intervals/update_us",
          "monitoring_attrs/nr_regions/min", "monitoring_attrs/nr_regions/max"})
      put(std::string("kdamonds/0/contexts/0/") + name, "");
    for (int i = 0; i < 20; ++i) {
      const std::string region = "kdamonds/0/contexts/0/targets/0/regions/" + std::to_string(i);
      put(region + "/start", "");
      put(region + "/end", "");
    }
  }
  void TearDown() override { files::remove_all(root_); }

  void put(const std::string& file, const std::string& text) {
    files::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file, std::ios::app) << text;
  }
  [[nodiscard]] std::string context(const std::string& file) const {
    return said(root_ / "kdamonds/0/contexts/0" / file);
  }
  /// The kernel fills the folder of a trace when it is made.
  void add_trace() {
    for (const char* name : {"buffer_size_kb", "trace_pipe", "events/damon/damon_aggregated/enable",
                             "events/damon/damon_aggregated/filter"})
      put(trace + name, "");
  }
  /// An event of a region that was accessed so often.
  void event(Place begin, Place end, unsigned accesses) {
    put(trace + "trace_pipe",
        "       kdamond.0-77      [001] .....    64.123456: damon_aggregated: target_id=0 "
        "nr_regions=9 " +
            std::to_string(begin) + "-" + std::to_string(end) + ": " + std::to_string(accesses) +
            " 4\n");
  }
  Damon damon(std::uint64_t round_ns = second / 5) {
    return Damon(4711, round_ns, {.kdamonds = root_ / "kdamonds", .tracing = root_ / "tracing"});
  }

  const std::string trace = "tracing/instances/nearfar/";
  files::path root_;
};

TEST_F(DamonTest, IsToldOfTheProcessTheAreasAndTheRound) {
  add_trace();
  Damon damon = this->damon();
  damon.watch({{0x10000, 0x12000}, {0x40000, 0x41000}});
  EXPECT_EQ(context("operations"), "fvaddr");
  EXPECT_EQ(context("targets/0/pid_target"), "4711");
  EXPECT_EQ(context("monitoring_attrs/intervals/sample_us"), "200000");
  EXPECT_EQ(context("monitoring_attrs/intervals/aggr_us"), "200000");
  EXPECT_EQ(context("targets/0/regions/nr_regions"), "3");
  EXPECT_EQ(context("targets/0/regions/1/start"), std::to_string(0x11000));
  EXPECT_EQ(context("targets/0/regions/2/end"), std::to_string(0x41000));
  EXPECT_EQ(said(root_ / trace / "events/damon/damon_aggregated/filter"),
            "nr_accesses > 0 || start == " + std::to_string(0x10000));
  EXPECT_EQ(said(root_ / "kdamonds/0/state"), "on");
}

TEST_F(DamonTest, LooksOftenEnoughInALongRoundToTakeAnOrderSoon) {
  add_trace();
  Damon damon = this->damon(19 * second);
  damon.watch({{0x10000, 0x12000}});
  EXPECT_EQ(context("monitoring_attrs/intervals/sample_us"), "1900000");
  EXPECT_EQ(context("monitoring_attrs/intervals/aggr_us"), "19000000");
  EXPECT_EQ(regions_for(1 << 20, 19 * second).most, regions_for(1 << 20, 19 * second / 10).most);
}

TEST_F(DamonTest, FindsWhatWasAccessedInARoundOnce) {
  add_trace();
  Damon damon = this->damon();
  damon.watch({{0x10000, 0x20000}});
  EXPECT_FALSE(damon.listen());
  event(0x14000, 0x15000, 1);
  EXPECT_FALSE(damon.listen());
  event(0x10000, 0x11000, 0);
  event(0x15000, 0x17000, 1);
  put(trace + "trace_pipe", "something else\n");
  EXPECT_TRUE(damon.listen());
  EXPECT_EQ(damon.take(), (std::vector<Area>{{0x14000, 0x17000}}));
  EXPECT_FALSE(damon.listen());
  EXPECT_TRUE(damon.take().empty());
}

TEST_F(DamonTest, EndsARoundWhoseEventsWereLostInPartAndCountsThem) {
  add_trace();
  Damon damon = this->damon();
  damon.watch({{0x10000, 0x20000}});
  put(trace + "trace_pipe", "CPU:1 [LOST 12 EVENTS]\n");
  event(0x14000, 0x15000, 1);
  EXPECT_TRUE(damon.listen());
  EXPECT_EQ(damon.lost(), 12U);
  EXPECT_EQ(damon.take(), (std::vector<Area>{{0x14000, 0x15000}}));
  EXPECT_FALSE(damon.listen());
  put(trace + "trace_pipe", "CPU:0 [LOST EVENTS]\n");
  EXPECT_TRUE(damon.listen());
  EXPECT_EQ(damon.lost(), 13U);
}

TEST_F(DamonTest, HasATraceThatHoldsAnEventOfEachRegion) {
  constexpr std::uint64_t event_bytes = 52;  // as the kernel lays it out, with its header
  add_trace();
  Damon damon(4711, second, {.kdamonds = root_ / "kdamonds", .tracing = root_ / "tracing"});
  damon.watch({{0x10000, 0x20000}});
  const std::uint64_t most = std::stoull(context("monitoring_attrs/nr_regions/max"));
  EXPECT_GE(std::stoull(said(root_ / trace / "buffer_size_kb")) * 1024, most * event_bytes);
}

TEST_F(DamonTest, PutsALineTogetherThatComesInTwoParts) {
  add_trace();
  Damon damon = this->damon();
  damon.watch({{0x10000, 0x20000}});
  put(trace + "trace_pipe", "kdamond.0-77 [001] ..... 6.1: damon_aggregated: target_id=0 nr_reg");
  EXPECT_FALSE(damon.listen());
  put(trace + "trace_pipe", "ions=9 65536-69632: 1 0\n");
  EXPECT_TRUE(damon.listen());
  EXPECT_EQ(damon.take(), (std::vector<Area>{{0x10000, 0x11000}}));
}

TEST_F(DamonTest, IsToldOfOtherAreasWhileItRuns) {
  add_trace();
  Damon damon = this->damon();
  damon.watch({{0x10000, 0x20000}});
  damon.watch({{0x8000, 0x30000}});
  EXPECT_EQ(context("targets/0/regions/nr_regions"), "1");
  EXPECT_EQ(said(root_ / "kdamonds/0/state"), "commit");
  event(0x8000, 0x9000, 0);
  EXPECT_TRUE(damon.listen());
}

TEST_F(DamonTest, GoesOnByTheFirstAreaThatItHadWhereTheKernelRefusesOthers) {
  add_trace();
  Damon damon = this->damon();
  damon.watch({{0x10000, 0x20000}});
  files::remove(root_ / "kdamonds/0/state");
  EXPECT_THROW(damon.watch({{0x8000, 0x30000}}), InputError);
  EXPECT_EQ(said(root_ / trace / "events/damon/damon_aggregated/filter"),
            "nr_accesses > 0 || start == " + std::to_string(0x10000));
  event(0x8000, 0x9000, 0);
  EXPECT_FALSE(damon.listen());
  event(0x10000, 0x11000, 0);
  EXPECT_TRUE(damon.listen());
}

TEST_F(DamonTest, IsSetUpAnewAfterItsStartWasRefused) {
  add_trace();
  Damon damon = this->damon();
  files::remove(root_ / "kdamonds/0/state");
  EXPECT_THROW(damon.watch({{0x10000, 0x20000}}), InputError);
  EXPECT_EQ(said(root_ / "kdamonds/nr_kdamonds"), "0");
  put("kdamonds/0/state", "off\n");
  damon.watch({{0x10000, 0x20000}});
  EXPECT_EQ(said(root_ / "kdamonds/0/state"), "on");
}

TEST_F(DamonTest, SaysThatAFileMayNotBeWrittenWhereThatIsSo) {
  add_trace();
  const files::path closed = root_ / trace / "buffer_size_kb";
  ASSERT_EQ(::chmod(closed.c_str(), 0444), 0);
  constexpr uid_t other_user = 65534;
  const uid_t user = ::geteuid();
  ASSERT_EQ(::seteuid(user == 0 ? other_user : user), 0);
  std::string what;
  try {
    Damon damon = this->damon();
    damon.watch({{0x10000, 0x20000}});
  } catch (const InputError& error) {
    what = error.what();
  }
  ASSERT_EQ(::seteuid(user), 0);
  EXPECT_NE(what.find(closed.string()), std::string::npos) << what;
  EXPECT_NE(what.find("Permission denied"), std::string::npos) << what;
}

TEST_F(DamonTest, IsLeftAsItWasAtTheEnd) {
  add_trace();
  {
    Damon damon = this->damon();
    damon.watch({{0x10000, 0x20000}});
    EXPECT_EQ(said(root_ / "kdamonds/nr_kdamonds"), "1");
  }
  EXPECT_EQ(said(root_ / "kdamonds/0/state"), "off");
  EXPECT_EQ(said(root_ / "kdamonds/nr_kdamonds"), "0");
  EXPECT_EQ(said(root_ / trace / "events/damon/damon_aggregated/enable"), "0");
}

TEST_F(DamonTest, ThatAnotherProgramHasSetUpIsRefusedAndLeftAlone) {
  files::resize_file(root_ / "kdamonds/nr_kdamonds", 0);
  put("kdamonds/nr_kdamonds", "1\n");
  put("kdamonds/0/contexts/0/operations", "vaddr\n");
  {
    Damon damon = this->damon();
    EXPECT_THROW(damon.watch({{0x10000, 0x20000}}), InputError);
  }
  EXPECT_EQ(said(root_ / "kdamonds/nr_kdamonds"), "1\n");
  EXPECT_EQ(said(root_ / "kdamonds/0/state"), "off\n");
}

TEST_F(DamonTest, ThatAKilledManagerHasLeftIsTakenOver) {
  add_trace();
  files::resize_file(root_ / "kdamonds/nr_kdamonds", 0);
  put("kdamonds/nr_kdamonds", "1\n");
  put("kdamonds/0/contexts/0/operations", "fvaddr\n");
  Damon damon = this->damon();
  damon.watch({{0x10000, 0x20000}});
  EXPECT_EQ(context("targets/0/pid_target"), "4711");
  EXPECT_EQ(said(root_ / "kdamonds/0/state"), "on");
}

TEST_F(DamonTest, WhoseEventsCannotBeReadIsRefusedAndLeftAsItWas) {
  {
    Damon damon = this->damon();
    EXPECT_THROW(damon.watch({{0x10000, 0x20000}}), InputError);
  }
  EXPECT_EQ(said(root_ / "kdamonds/nr_kdamonds"), "0");
}

TEST(DamonRegionsTest, AreSinglePagesWhereThatIsCheap) {
  const DamonRegions regions = regions_for(16384, second);
  EXPECT_EQ(regions.least, 16384U);
  EXPECT_GE(regions.most, 2 * regions.least);
}

TEST(DamonRegionsTest, AreFewerTheShorterARoundIs) {
  const DamonRegions slow = regions_for(1 << 20, second);
  const DamonRegions fast = regions_for(1 << 20, second / 10);
  EXPECT_EQ(slow.most, 10 * fast.most);
  EXPECT_LT(slow.least, slow.most);
  EXPECT_LE((1U << 20U) / fast.pages_each, fast.most);
}

/// A run of pages, and a monitor that finds what it is given.
class OneRun final : public ProcessMemory {
 public:
  bool look(const std::function<void(const Run&)>& found) override {
    found(run);
    return true;
  }
  bool forget_writes() override { return true; }
  void find_nodes(std::span<const Place> /*pages*/, std::span<int> /*nodes*/) override {}
  void move(std::span<const Place> /*pages*/, int /*node*/, std::span<int> /*nodes*/) override {}
  [[nodiscard]] std::vector<Area> areas() const override { return now; }
  [[nodiscard]] std::uint64_t thread_ns() const override { return 0; }

  Run run{.begin = 0x10000, .end = 0x20000, .written = true};
  std::vector<Area> now{{0x10000, 0x20000}};
};

class GivenAccesses final : public AccessMonitor {
 public:
  static constexpr Place refused = 0x50000;

  explicit GivenAccesses(std::vector<Area> accessed, std::vector<Area>& watched)
      : accessed_(std::move(accessed)), watched_(watched) {}
  void watch(const std::vector<Area>& areas) override {
    if (areas.back().end == refused) throw InputError("refused");
    watched_ = areas;
  }
  bool listen() override { return true; }
  [[nodiscard]] std::vector<Area> take() override { return accessed_; }
  [[nodiscard]] std::uint64_t cpu_ns() const override { return 0; }
  void end() override {}

 private:
  std::vector<Area> accessed_;
  std::vector<Area>& watched_;
};

TEST(WatchedMemoryTest, TellsARunInPartsWhereAPartOfItWasAccessed) {
  OneRun run;
  std::vector<Area> watched;
  WatchedMemory memory(run, std::make_unique<GivenAccesses>(
                                std::vector<Area>{{0x8000, 0x11000}, {0x14000, 0x15000}}, watched));
  std::vector<std::pair<Area, bool>> told;
  ASSERT_TRUE(memory.look([&](const attach::Run& part) {
    EXPECT_TRUE(part.written);
    told.push_back({{part.begin, part.end}, part.accessed});
  }));
  const std::vector<std::pair<Area, bool>> expected{{{0x10000, 0x11000}, true},
                                                    {{0x11000, 0x14000}, false},
                                                    {{0x14000, 0x15000}, true},
                                                    {{0x15000, 0x20000}, false}};
  EXPECT_EQ(told, expected);
}

TEST(WatchedMemoryTest, HasOtherAreasWatchedAfterAFewLooks) {
  OneRun run;
  std::vector<Area> watched;
  WatchedMemory memory(run, std::make_unique<GivenAccesses>(std::vector<Area>{}, watched));
  EXPECT_EQ(watched, run.now);
  run.now = {{0x10000, 0x30000}};
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(memory.look([](const attach::Run& /*run*/) {}));
  EXPECT_EQ(watched, run.now);
}

TEST(WatchedMemoryTest, GoesOnWithTheAreasThatItHadWhereTheKernelRefusesOthers) {
  OneRun run;
  std::vector<Area> watched;
  WatchedMemory memory(run, std::make_unique<GivenAccesses>(std::vector<Area>{}, watched));
  const std::vector<Area> before = run.now;
  run.now = {{0x10000, GivenAccesses::refused}};
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(memory.look([](const attach::Run& /*run*/) {}));
  EXPECT_EQ(watched, before);
}

}  // namespace test_file
}  // namespace nearfar::tier::attach
