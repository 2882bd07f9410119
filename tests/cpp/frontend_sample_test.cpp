// Which instructions of a program a systematic sample measures, and what passes between.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <sstream>
#include <vector>

#include "frontend/engine.h"
#include "frontend/qemu/sample.h"

namespace nearfar::frontend::qemu {
namespace test_file {

using Part = Sample::Part;

constexpr Sample::Plan plan{.window = 10, .warm = 30, .period = 200, .seed = 7};

/// Plays so many blocks of some instructions on a machine that spends 2 ps on each it simulates,
/// and on one that checks it, which spends 3 ps.
struct Played {
  Played(const Sample::Plan& with, std::uint64_t block, std::size_t blocks) : sample(with) {
    for (std::size_t i = 0; i < blocks; ++i) {
      const Part part = sample.next(block, [&](bool checker) { return checker ? checked : spent; });
      parts.push_back(part);
      if (part == Part::warming || part == Part::counted) add(spent, block, 2);
      if (part != Part::skipped && sample.is_checked()) add(checked, block, 3);
    }
  }

  static void add(Engine::Spent& to, std::uint64_t block, std::uint64_t each) {
    to.instructions += block;
    to.busy += Tick(each * block);
  }

  Sample sample;
  Engine::Spent spent;
  Engine::Spent checked;
  std::vector<Part> parts;
};

TEST(Sample, ASampleMeasuresOneWindowInEachPeriod) {
  const Played played(plan, 1, 4000);
  const auto& windows = played.sample.windows();
  ASSERT_GE(windows.size(), 19u);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i].period_at, 200 * i);
    EXPECT_EQ(windows[i].period, 200u);
    EXPECT_GE(windows[i].at, windows[i].period_at);
    EXPECT_LE(windows[i].at + 10, windows[i].period_at + 200);
    EXPECT_EQ(windows[i].spent.instructions, 10u);
    EXPECT_EQ(windows[i].spent.busy, Tick(20));
  }
}

TEST(Sample, ASampleDrawsThePlaceOfAWindowByItsSeed) {
  const auto places = [](std::uint64_t seed) {
    Sample::Plan with = plan;
    with.seed = seed;
    const Played played(with, 1, 4000);
    std::vector<std::uint64_t> found;
    for (const Sample::Window& window : played.sample.windows()) {
      found.push_back(window.at - window.period_at);
    }
    return found;
  };
  EXPECT_EQ(places(7), places(7));
  EXPECT_NE(places(7), places(8));
  std::vector<std::uint64_t> drawn = places(7);
  std::ranges::sort(drawn);
  EXPECT_GT(drawn.back() - drawn.front(), 50u);
}

TEST(Sample, ASampleWarmsUpBeforeEachWindow) {
  const Played played(plan, 1, 4000);
  for (const Sample::Window& window : played.sample.windows()) {
    for (std::uint64_t at = window.at > 30 ? window.at - 30 : 0; at < window.at; ++at) {
      EXPECT_NE(played.parts[at], Part::skipped) << at;
      EXPECT_NE(played.parts[at], Part::checking) << at;
    }
    for (std::uint64_t at = window.at; at < window.at + 10; ++at) {
      EXPECT_EQ(played.parts[at], Part::counted) << at;
    }
  }
  const auto simulated = std::ranges::count_if(
      played.parts, [](Part part) { return part == Part::warming || part == Part::counted; });
  EXPECT_LE(simulated, 40 * 20);
}

TEST(Sample, ASampleChecksOneWindowOfEightWithALongerWarmUp) {
  const Played played(plan, 1, 8000);
  const auto& windows = played.sample.windows();
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const bool checked = i % Sample::check_every == Sample::check_every / 2;
    EXPECT_EQ(windows[i].checked.instructions, checked ? 10u : 0u);
    EXPECT_EQ(windows[i].checked.busy, checked ? Tick(30) : Tick{});
  }
  const Sample::Window& first = windows[4];
  const std::uint64_t from = windows[3].at + 10;  // what comes before is the window's before it
  for (std::uint64_t at = std::max(from, first.at - 8 * 30); at < first.at - 30; ++at) {
    EXPECT_EQ(played.parts[at], Part::checking) << at;
  }
}

TEST(Sample, ASampleDoublesItsPeriodAfterSoManyWindows) {
  Sample::Plan with = plan;
  with.doubled_after = 4;
  const Played played(with, 1, 20'000);
  std::vector<std::uint64_t> periods;
  std::uint64_t covered = 0;
  for (const Sample::Window& window : played.sample.windows()) {
    EXPECT_EQ(window.period_at, covered);
    covered += window.period;
    periods.push_back(window.period);
  }
  ASSERT_GE(periods.size(), 13u);
  EXPECT_EQ(std::vector(periods.begin(), periods.begin() + 13),
            (std::vector<std::uint64_t>{200, 200, 200, 200, 400, 400, 400, 400, 800, 800, 800, 800,
                                        1600}));
}

TEST(Sample, ASampleOfWholePeriodsSkipsNothing) {
  Sample::Plan with = plan;
  with.period = with.window;
  const Played played(with, 1, 100);
  EXPECT_EQ(std::ranges::count(played.parts, Part::counted), 100);
  EXPECT_EQ(played.sample.windows().size(), 9u);  // the last has not been seen to end
}

TEST(Sample, ASampleTellsHowManyInstructionsMayPassBeforeTheNextWarmUp) {
  Sample sample(plan);
  const auto spent = [](bool) { return Engine::Spent{}; };
  const std::uint64_t left = sample.left();
  sample.pass(left);
  EXPECT_EQ(sample.left(), 0u);
  EXPECT_EQ(sample.next(30, spent), Part::warming);
  EXPECT_EQ(sample.next(10, spent), Part::counted);
  EXPECT_EQ(sample.left(), 0u);
  sample.next(1, spent);
  EXPECT_EQ(sample.passed(), left + 41);
  ASSERT_EQ(sample.windows().size(), 1u);
}

TEST(Sample, AWindowThatPassedUnseenBeginsLate) {
  Sample sample(plan);
  sample.pass(500);
  EXPECT_EQ(sample.next(4, [](bool) { return Engine::Spent{}; }), Part::counted);
  for (int i = 0; i < 3; ++i) sample.next(4, [](bool) { return Engine::Spent{}; });
  ASSERT_EQ(sample.windows().size(), 1u);
  EXPECT_EQ(sample.windows()[0].at, 500u);
}

/// A machine that takes 3 ns for each block, and has nothing else to do.
class Paced final : public Engine {
 public:
  Thread add_thread(Tick at) override {
    clock_ = at;
    return 0;
  }
  void end_thread(Thread) override {}
  void run(Thread, const sim::cpu::Block&, std::span<const sim::cpu::Access>) override {
    spent_.instructions += 1;
    spent_.busy += Tick(3000);
    clock_ += Tick(3000);
  }
  void skip(Thread, std::uint64_t) override { FAIL() << "it was to be told of nothing"; }
  void leave(Thread) override {}
  void come_back(Thread, Tick at) override { clock_ = max(clock_, at); }
  [[nodiscard]] Spent spent(Thread) override { return spent_; }
  [[nodiscard]] Tick now(Thread) override { return clock_; }
  [[nodiscard]] Tick clock(Thread) const override { return clock_; }
  [[nodiscard]] bool ahead(Thread, Tick) const override { return false; }
  void report(std::ostream& out) override { out << clock_.ps(); }

 private:
  Tick clock_{};
  Spent spent_;
};

TEST(SampledEngine, SkippedInstructionsTakeWhatThoseBeforeThemTookAndTheMachineSeesNoneOfIt) {
  auto sampled =
      make_sampled_engine(std::make_unique<Paced>(), std::make_unique<Paced>(), Tick(500));
  sampled->add_thread(Tick(1000));
  sampled->skip(0, 10);  // nothing is known yet: a cycle each
  EXPECT_EQ(sampled->now(0), Tick(1000 + 5000));
  for (int i = 0; i < 1000; ++i) sampled->run(0, {}, {});
  sampled->skip(0, 100);
  EXPECT_EQ(sampled->clock(0), Tick(1000 + 5000 + 3'000'000 + 300'000));
  std::ostringstream machine;
  sampled->report(machine);
  EXPECT_EQ(machine.str(), "3001000");
}

TEST(SampledEngine, TheMachineThatChecksExecutesWhatItIsToldTo) {
  auto sampled =
      make_sampled_engine(std::make_unique<Paced>(), std::make_unique<Paced>(), Tick(500));
  sampled->add_thread(Tick{});
  using enum Engine::Executes;
  for (const Engine::Executes which : {machine, checker, checker, both}) {
    sampled->executes(which);
    sampled->run(0, {}, {});
  }
  EXPECT_EQ(sampled->spent(0).instructions, 2u);
  EXPECT_EQ(sampled->checked(0).instructions, 3u);
  EXPECT_EQ(sampled->now(0), Tick(6000));
}

TEST(SampledEngine, AThreadComesBackByTheClockThatItSees) {
  auto sampled =
      make_sampled_engine(std::make_unique<Paced>(), std::make_unique<Paced>(), Tick(500));
  sampled->add_thread(Tick{});
  sampled->skip(0, 100);
  sampled->come_back(0, Tick(60'000));
  EXPECT_EQ(sampled->now(0), Tick(60'000));
  sampled->come_back(0, Tick(10));
  EXPECT_EQ(sampled->now(0), Tick(60'000));
}

}  // namespace test_file
}  // namespace nearfar::frontend::qemu
