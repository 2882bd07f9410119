#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "lazy_fixture.h"
#include "sim/nvdimm/wear.h"

/// What the Lazy cache absorbs, against closed forms and against a model of it in a few lines.
namespace nearfar::sim::testing {
namespace test_file {

constexpr std::uint64_t wear_writes = 100;
constexpr Bytes wear_block = 4096;

/// Each write is by itself: it leaves the load-store queue at once, and has long reached the media
/// when the next one comes. Blocks move after exactly `wear_writes`.
Settings lazy_optane(const Overrides& overrides = {}) {
  Settings settings = quiet_optane({{"nvdimm.lsq.hold", "0"},
                                    {"nvdimm.wear.writes", std::to_string(wear_writes)},
                                    {"nvdimm.wear.spread", "0"},
                                    {"nvdimm.wear.stall", "1000000"},
                                    {"nvdimm.lazy.enabled", "true"}});
  apply(settings, overrides);
  return settings;
}

Arrival access_to(std::uint64_t line, Op op, std::size_t number) {
  Request request;
  request.id = number;
  request.address = Address(line * line_bytes);
  request.op = op;
  request.data = op == Op::write ? number + 1 : 0;
  return {Tick(number * 20'000'000), request};
}

std::vector<Arrival> writes_to(const std::vector<std::uint64_t>& lines) {
  std::vector<Arrival> arrivals;
  for (const std::uint64_t line : lines) {
    arrivals.push_back(access_to(line, Op::write, arrivals.size()));
  }
  return arrivals;
}

std::vector<std::uint64_t> round_robin(const std::vector<std::uint64_t>& lines,
                                       std::size_t writes) {
  std::vector<std::uint64_t> sequence;
  for (std::size_t i = 0; i < writes; ++i) sequence.push_back(lines[i % lines.size()]);
  return sequence;
}

/// Media writes that a block takes before it moves for the first time.
std::uint64_t first_move(std::uint64_t block) {
  nvdimm::WearConfig config;
  config.writes = wear_writes;
  config.block = wear_block;
  config.spares = 1;
  nvdimm::WearLeveler wear(config, optane().bytes("capacity"), optane().count("seed") + 3);
  std::uint64_t writes = 1;
  while (!wear.count_write(Address(block * wear_block))) ++writes;
  return writes;
}

/// What the Lazy cache would do if nothing took time.
class Model {
 public:
  Model(std::size_t entries, Bytes entry, double threshold)
      : entries_(entries), lines_per_entry_(entry / line_bytes), threshold_(threshold) {}

  void write(std::uint64_t line) {
    for (auto held = held_.begin(); held != held_.end(); ++held) {
      if (held->number != line / lines_per_entry_) continue;
      held->dirty = true;
      held_.splice(held_.begin(), held_, held);
      ++absorbed;
      return;
    }
    to_media(line);
  }

  std::uint64_t absorbed = 0;
  std::uint64_t media_writes = 0;
  std::uint64_t migrations = 0;
  std::uint64_t write_backs = 0;

 private:
  struct Held {
    std::uint64_t number;
    bool dirty;
  };
  struct Record {
    std::uint64_t left = 0;
    std::uint64_t writes = 0;
    std::uint64_t moved_at = 0;
  };

  void to_media(std::uint64_t line) {
    ++media_writes;
    const std::uint64_t block = line * line_bytes / wear_block;
    const auto [found, first] = records_.try_emplace(block);
    Record& record = found->second;
    if (first) record.left = first_move(block);
    ++record.writes;
    if (--record.left != 0) return;
    record.left = wear_writes;
    ++migrations;
    const double rate =
        static_cast<double>(record.writes) / static_cast<double>(media_writes - record.moved_at);
    record.writes = 0;
    record.moved_at = media_writes;
    if (rate > threshold_) admit(line);
  }

  void admit(std::uint64_t line) {
    held_.push_front({line / lines_per_entry_, false});
    if (held_.size() <= entries_) return;
    const Held gone = held_.back();
    held_.pop_back();
    if (!gone.dirty) return;
    ++write_backs;
    to_media(gone.number * lines_per_entry_);
  }

  std::size_t entries_;
  std::uint64_t lines_per_entry_;
  double threshold_;
  std::list<Held> held_;
  std::map<std::uint64_t, Record> records_;
};

std::map<std::string, std::uint64_t> counters_after(const std::vector<std::uint64_t>& lines,
                                                    const Overrides& overrides = {}) {
  Machine machine(lazy_optane(overrides));
  std::map<std::string, std::uint64_t> short_names;
  for (const auto& [name, value] : drive(machine, writes_to(lines)).counters) {
    const std::string::size_type dimm = name.find("dimm.");
    if (dimm != std::string::npos) short_names[name.substr(dimm + 5)] = value;
  }
  return short_names;
}

void expect_as_modelled(const std::vector<std::uint64_t>& lines, std::size_t entries,
                        double threshold = 0.01) {
  Model model(entries, 128, threshold);
  for (const std::uint64_t line : lines) model.write(line);
  const auto counters =
      counters_after(lines, {{"nvdimm.lazy.lz1.size", "64"},
                             {"nvdimm.lazy.lz2.size", std::to_string(128 * entries)},
                             {"nvdimm.lazy.threshold", std::to_string(threshold)}});
  EXPECT_EQ(counters.at("lazy.absorbed"), model.absorbed);
  EXPECT_EQ(counters.at("media.writes"), model.media_writes);
  EXPECT_EQ(counters.at("wear.migrations"), model.migrations);
  EXPECT_EQ(counters.at("lazy.write_backs"), model.write_backs);
  EXPECT_EQ(counters.at("media.writes") + counters.at("lazy.media_writes_avoided"),
            lines.size() + model.write_backs);
}

TEST(LazyCache, AHotLineIsWrittenToTheMediaUntilItsBlockMovesAndNeverAgain) {
  constexpr std::uint64_t writes = 1000;
  const std::uint64_t before = first_move(3);
  const auto counters = counters_after(std::vector<std::uint64_t>(writes, 3 * 64 + 5));
  EXPECT_EQ(counters.at("media.writes"), before);
  EXPECT_EQ(counters.at("lazy.absorbed"), writes - before);
  EXPECT_EQ(counters.at("lazy.lz1.hits"), writes - before - 1) << "the first is copied from LZ2";
  EXPECT_EQ(counters.at("wear.migrations"), 1u);
  EXPECT_EQ(counters.at("lazy.media_writes_avoided"), writes - before);
  EXPECT_EQ(counters.at("lazy.migrations_without"), 1 + (writes - before) / wear_writes);
}

TEST(LazyCache, SixteenScatteredLinesFitAndAreWrittenToTheMediaUntilTheirBlocksMove) {
  constexpr std::uint64_t rounds = 150;
  std::vector<std::uint64_t> lines;
  std::uint64_t before = 0;
  for (std::uint64_t block = 0; block < 16; ++block) {
    lines.push_back(block * 64 + block);
    before += first_move(block);
  }
  const auto counters = counters_after(round_robin(lines, rounds * lines.size()));
  EXPECT_EQ(counters.at("media.writes"), before);
  EXPECT_EQ(counters.at("lazy.absorbed"), rounds * 16 - before);
  EXPECT_EQ(counters.at("wear.migrations"), 16u);
  EXPECT_EQ(counters.at("lazy.evicted"), 0u);
}

TEST(LazyCache, ThirtyTwoAdjacentLinesFitAndNoneIsWrittenToTheMediaOnceTheLastIsAdmitted) {
  std::vector<std::uint64_t> lines;
  for (std::uint64_t line = 0; line < 32; ++line) lines.push_back(line);
  const std::vector<std::uint64_t> sequence = round_robin(lines, 12'000);
  Model model(16, 128, 0.01);
  std::size_t last_media_write = 0;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const std::uint64_t before = model.media_writes;
    model.write(sequence[i]);
    if (model.media_writes != before) last_media_write = i;
  }
  ASSERT_LT(last_media_write, 6000u);
  const auto counters = counters_after(sequence);
  EXPECT_EQ(counters.at("media.writes"), model.media_writes);
  EXPECT_EQ(counters.at("lazy.absorbed"), sequence.size() - model.media_writes);
  EXPECT_EQ(counters.at("wear.migrations"), 16u) << "one for each entry, and none after";
  EXPECT_EQ(counters.at("lazy.evicted"), 0u);
}

TEST(LazyCache, MoreLinesThanFitAreAbsorbedAsAModelOfLeastRecentlyUsedEntriesSays) {
  for (const std::uint64_t blocks : {5u, 6u, 9u}) {
    SCOPED_TRACE(std::to_string(blocks) + " blocks");
    std::vector<std::uint64_t> lines;
    for (std::uint64_t block = 0; block < blocks; ++block) lines.push_back(block * 64 + 7);
    expect_as_modelled(round_robin(lines, 3000), 4);
  }
}

TEST(LazyCache, RandomWritesBeyondCapacityAreAbsorbedAsAModelSaysWhateverTheThreshold) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<std::uint64_t> sequence;
    for (int i = 0; i < 6000; ++i) {
      const std::uint64_t block = rng.below(rng.below(2) == 0 ? 3 : 12);
      sequence.push_back(block * 64 + rng.below(1 + seed * 2));
    }
    expect_as_modelled(sequence, 1 + seed, seed % 3 == 0 ? 0.0 : 0.07 * static_cast<double>(seed));
  }
}

TEST(LazyCache, ABlockBelowTheThresholdIsNotAdmitted) {
  std::vector<std::uint64_t> lines;
  for (std::uint64_t block = 0; block < 20; ++block) lines.push_back(block * 64);
  const auto sequence = round_robin(lines, 4000);
  EXPECT_EQ(counters_after(sequence, {{"nvdimm.lazy.threshold", "0.2"}}).at("lazy.admitted"), 0u)
      << "each takes a twentieth of all writes";
  EXPECT_GT(counters_after(sequence, {{"nvdimm.lazy.threshold", "0.04"}}).at("lazy.admitted"), 0u);
  EXPECT_GT(counters_after(sequence,
                           {{"nvdimm.lazy.threshold", "0.2"}, {"nvdimm.lazy.priority", "count"}})
                .at("lazy.admitted"),
            0u)
      << "but it takes as many as any other before it moves";
}

TEST(LazyCache, ALineOfTheCacheIsReadFromThereAndFasterThanFromTheFirstBuffer) {
  std::vector<Arrival> arrivals = writes_to(std::vector<std::uint64_t>(150, 7));
  arrivals.push_back(access_to(7, Op::read, 150));
  arrivals.push_back(access_to(7 + 4, Op::read, 151));
  arrivals.push_back(access_to(7 + 4, Op::read, 152));
  Machine machine(lazy_optane());
  const Outcome outcome = drive(machine, arrivals);
  std::map<std::uint64_t, Completion> answers;
  for (const Completion& answer : outcome.completions) answers[answer.id] = answer;
  EXPECT_EQ(answers.at(150).data, 150u) << "the last of the writes";
  const auto latency = [&](std::uint64_t id) { return answers.at(id).time - arrivals[id].time; };
  EXPECT_EQ(latency(152) - latency(150), Tick(30'000 - 5'000)) << "LZ1 for the RMW buffer";
}

TEST(LazyCache, AnEntryThatTookNoWriteForItsAgeGoesOnToTheMedia) {
  std::vector<Arrival> arrivals = writes_to(std::vector<std::uint64_t>(150, 7));
  const Overrides aged = {{"nvdimm.lazy.age", "30000000"}};
  Machine machine(lazy_optane(aged));
  const Outcome outcome = drive(machine, arrivals);
  std::uint64_t evicted = 0;
  std::uint64_t written = 0;
  for (const auto& [name, value] : outcome.counters) {
    if (name.ends_with("lazy.evicted")) evicted += value;
    if (name.ends_with("media.writes")) written += value;
  }
  EXPECT_EQ(evicted, 1u) << "after the last write, not between two of them";
  EXPECT_EQ(written, first_move(0) + 1);
  EXPECT_EQ(machine.durable(Address(7 * line_bytes)), 150u);
}

std::string refusal(const Overrides& overrides) {
  try {
    Machine machine(lazy_optane(overrides));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LazyCache, ALazyCacheThatCannotBeIsRefusedInOneLine) {
  EXPECT_EQ(refusal({{"nvdimm.wear.writes", "0"}}),
            "model: nvdimm.wear.writes is 0, expected 1 or more: nvdimm.lazy admits lines by the "
            "records of wear-levelling; or set nvdimm.lazy.enabled = false");
  EXPECT_NE(refusal({{"nvdimm.wear.spares", "0"}}).find("nvdimm.wear.spares is 0"),
            std::string::npos);
  EXPECT_EQ(refusal({{"nvdimm.lazy.lz2.entry", "512"}}),
            "model: nvdimm.lazy.lz2.entry is 512 B, expected a power of two from 64 B to "
            "nvdimm.media.access, 256 B");
  EXPECT_NE(refusal({{"nvdimm.lazy.lz1.size", "4096"}}).find("expected room for all of"),
            std::string::npos);
  EXPECT_NE(refusal({{"nvdimm.lazy.lz2.size", "1000"}}).find("expected a multiple of"),
            std::string::npos);
  EXPECT_NE(refusal({{"nvdimm.lazy.priority", "age"}}).find("expected rate or count"),
            std::string::npos);
}

}  // namespace test_file
}  // namespace nearfar::sim::testing
