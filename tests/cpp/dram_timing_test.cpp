#include <gtest/gtest.h>

#include <map>
#include <set>

#include "dram_fixture.h"
#include "effort.h"
#include "sim/dram/device_timing.h"

namespace nearfar::sim::dram::testing {
namespace test_file {

std::string describe(const Constraint& constraint, const Timing& timing) {
  std::string text;
  for (std::uint8_t c = 0; c < command_count; ++c) {
    if (constraint.preceding.has(static_cast<Command>(c))) {
      text += std::string(name(static_cast<Command>(c))) + " ";
    }
  }
  text += "to";
  for (std::uint8_t c = 0; c < command_count; ++c) {
    if (constraint.following.has(static_cast<Command>(c))) {
      text += " " + std::string(name(static_cast<Command>(c)));
    }
  }
  return text + ", " + std::to_string(constraint.gap(timing)) + " cycles";
}

bool to_bank(Command command) {
  switch (command) {
    case Command::act:
    case Command::pre:
    case Command::rd:
    case Command::rda:
    case Command::wr:
    case Command::wra:
      return true;
    default:
      return false;
  }
}

/// Whether the later command lies within the constraint's scope, seen from the earlier one.
bool in_scope(Scope scope, const CommandRecord& earlier, const CommandRecord& later) {
  if (scope == Scope::other_ranks) return earlier.rank != later.rank;
  if (earlier.rank != later.rank) return false;
  if (scope == Scope::rank) return true;
  if (scope == Scope::same_bank) return earlier.bank == later.bank;
  if (!to_bank(earlier.command) || !to_bank(later.command)) return false;
  if (earlier.bank_group != later.bank_group) return false;
  return scope == Scope::bank_group || earlier.bank == later.bank;
}

/// For every row of the table, the least distance beyond the required one that a trace shows.
void note_slack(const std::vector<CommandRecord>& commands, const Config& config,
                std::vector<std::int64_t>& least) {
  const auto table = constraints_of(config.standard);
  constexpr std::uint64_t horizon = 2000;  // cycles: longer than any constraint
  for (std::size_t i = 0; i < commands.size(); ++i) {
    std::vector<std::uint32_t> seen(table.size());
    for (std::size_t j = i; j-- > 0;) {
      const Cycle distance = (commands[i].time - commands[j].time) / config.clock;
      if (distance > horizon) break;
      for (std::size_t row = 0; row < table.size(); ++row) {
        const Constraint& constraint = table[row];
        if (!constraint.following.has(commands[i].command)) continue;
        if (!constraint.preceding.has(commands[j].command)) continue;
        if (!in_scope(constraint.scope, commands[j], commands[i])) continue;
        if (++seen[row] != constraint.count) continue;
        const std::int64_t slack =
            static_cast<std::int64_t>(distance) - constraint.gap(config.timing);
        least[row] = std::min(least[row], slack);
        EXPECT_GE(slack, 0) << describe(constraint, config.timing) << "; " << text(commands[j])
                            << " then " << text(commands[i]);
      }
    }
  }
}

class DramTiming : public ::testing::TestWithParam<Standard> {};

INSTANTIATE_TEST_SUITE_P(Standards, DramTiming, ::testing::Values(Standard::ddr4, Standard::ddr5),
                         [](const auto& info) { return title(info.param); });

/// A rank is powered down when it has no request: after a burst, which binds longer than the
/// activate or precharge before it, or after a refresh.
bool out_of_reach(const Constraint& constraint) {
  return constraint.following.has(Command::pde) && !constraint.following.has(Command::sre) &&
         (constraint.preceding.has(Command::act) || constraint.preceding.has(Command::pre));
}

TEST_P(DramTiming, EveryConstraintIsKeptAndSeenTight) {
  const auto table = constraints_of(GetParam());
  const Timing timing = example_of(GetParam()).timing;
  std::vector<std::int64_t> least(table.size(), 1'000'000);
  for (std::uint64_t seed = 0; seed < sim::testing::cases(200); ++seed) {
    Config config = random_config(seed, GetParam());
    // Every rank constraint has to be able to bind: no bus gap may come out negative.
    config.timing.cl = timing.cl;
    config.timing.cwl = timing.cwl;
    config.timing.rtrs = timing.rtrs;
    // Of DDR4 more than tXP, at times.
    if (GetParam() == Standard::ddr4) config.timing.cke = seed % 3 == 0 ? 10 : 7;
    StreamShape shape;
    shape.count = 400;
    shape.hot_percent = static_cast<std::uint32_t>(seed * 17 % 101);
    shape.writes_percent = static_cast<std::uint32_t>(seed * 29 % 101);
    shape.mean_gap_ps = 500 + seed % 7 * 8000;
    shape.pause_percent = static_cast<std::uint32_t>(seed % 4);
    const auto arrivals = random_stream(config, shape, seed);
    note_slack(drive(config, Mode::next_event, arrivals).commands, config, least);
    if (HasFailure()) return;
  }
  if (sim::testing::one_in > 1) return;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (out_of_reach(table[row])) continue;
    EXPECT_EQ(least[row], 0) << describe(table[row], timing) << " never binds";
  }
}

/// What the table says about `following` at `later` after `preceding` at `earlier`.
std::int64_t required(const CommandRecord& earlier, const CommandRecord& later,
                      const Config& config) {
  std::int64_t gap = 0;
  for (const Constraint& constraint : constraints_of(config.standard)) {
    if (constraint.count > 1 || !constraint.preceding.has(earlier.command)) continue;
    if (!constraint.following.has(later.command)) continue;
    if (!in_scope(constraint.scope, earlier, later)) continue;
    gap = std::max(gap, constraint.gap(config.timing));
  }
  return gap;
}

CommandRecord command_to(Command command, std::uint32_t bank, const Config& config) {
  CommandRecord record;
  record.command = command;
  record.rank = static_cast<std::uint8_t>(bank / config.banks_in_rank());
  record.bank_group = static_cast<std::uint8_t>(bank / config.banks % config.bank_groups);
  record.bank = static_cast<std::uint8_t>(bank % config.banks);
  return record;
}

/// The earliest cycle of the command, by all that DeviceTiming says of it.
Cycle earliest(const DeviceTiming& timing, Command command, std::uint32_t bank) {
  const Slot slot = slot_of(command);
  const std::uint32_t rank = timing.rank_of(bank);
  if (!to_bank(command)) {
    const Cycle by_banks = command == Command::refsb ? timing.earliest_refresh_of(bank) : 0;
    return std::max(timing.earliest_for_rank(slot, rank), by_banks);
  }
  const Cycle by_precharge = command == Command::rda ? timing.earliest_auto_precharge(bank) : 0;
  return std::max(
      {timing.earliest_at_bank(slot, bank), timing.earliest_in_rank(slot, rank), by_precharge});
}

/// A command to a rank stands for its first bank, a REFSB for the first of its banks.
bool stands_for_its_place(Command command, std::uint32_t bank, const Config& config) {
  const std::uint32_t in_rank = bank % config.banks_in_rank();
  return to_bank(command) || (command == Command::refsb ? in_rank < config.banks : in_rank == 0);
}

TEST_P(DramTiming, TheCompiledTableEqualsTheTable) {
  Config config = example_of(GetParam());
  config.ranks = GetParam() == Standard::ddr4 ? 3 : 2;
  constexpr Cycle when = 1000;
  for (std::uint8_t p = 0; p < command_count; ++p) {
    for (std::uint32_t bank = 0; bank < config.total_banks(); ++bank) {
      const CommandRecord earlier = command_to(static_cast<Command>(p), bank, config);
      if (!stands_for_its_place(earlier.command, bank, config)) continue;
      DeviceTiming timing(config);
      timing.issue(earlier.command, bank, when);
      for (std::uint8_t f = 0; f < command_count; ++f) {
        for (std::uint32_t other = 0; other < config.total_banks(); ++other) {
          const CommandRecord later = command_to(static_cast<Command>(f), other, config);
          const std::int64_t gap = required(earlier, later, config);
          ASSERT_EQ(earliest(timing, later.command, other),
                    gap == 0 ? 0 : when + static_cast<Cycle>(gap))
              << text(earlier) << " then " << text(later);
        }
      }
    }
  }
}

// The commands of a few requests, as "NAME@cycle" in a line.
std::string script(const Config& config, const std::vector<std::pair<Op, Location>>& requests,
                   Tick until = Tick(0)) {
  const AddressMapping mapping(config, "mapping");
  std::vector<Arrival> arrivals;
  for (const auto& [op, location] : requests) {
    Arrival arrival;
    arrival.request.id = arrivals.size();
    arrival.request.op = op;
    arrival.request.address =
        mapping.address(location, static_cast<std::uint32_t>(arrivals.size() * 8));
    arrivals.push_back(arrival);
  }
  std::string line;
  for (const CommandRecord& command : drive(config, Mode::next_event, arrivals, until).commands) {
    line += line.empty() ? "" : " ";
    line += std::string(name(command.command)) + "@" + std::to_string(command.time / config.clock);
  }
  return line;
}

constexpr Location in_bank(std::uint32_t row, std::uint16_t bank, std::uint16_t rank = 0) {
  return {row, bank, rank};
}

TEST(DramScripts, AReadOpensItsRowFirst) {
  EXPECT_EQ(script(without_refresh(), {{Op::read, in_bank(3, 5)}}), "ACT@1 RD@20");
}

TEST(DramScripts, HitsInOneBankFollowAtTheLongColumnDistance) {
  EXPECT_EQ(script(without_refresh(), {{Op::read, in_bank(3, 5)}, {Op::read, in_bank(3, 5)}}),
            "ACT@1 RD@20 RD@27");
}

TEST(DramScripts, BankGroupsInterleaveAtTheShortColumnDistance) {
  EXPECT_EQ(script(without_refresh(), {{Op::read, in_bank(3, 0)}, {Op::read, in_bank(3, 4)}}),
            "ACT@1 ACT@5 RD@20 RD@24");
}

TEST(DramScripts, AFifthActivateWaitsForTheFourActivateWindow) {
  EXPECT_EQ(script(without_refresh(), {{Op::read, in_bank(0, 0)},
                                       {Op::read, in_bank(0, 4)},
                                       {Op::read, in_bank(0, 8)},
                                       {Op::read, in_bank(0, 12)},
                                       {Op::read, in_bank(0, 1)}}),
            "ACT@1 ACT@5 ACT@9 ACT@13 RD@20 RD@24 RD@28 ACT@29 RD@32 RD@48");
}

TEST(DramScripts, AConflictWaitsForTheRowsLeastTimeOpen) {
  EXPECT_EQ(script(without_refresh(), {{Op::read, in_bank(3, 5)}, {Op::read, in_bank(4, 5)}}),
            "ACT@1 RD@20 PRE@44 ACT@63 RD@82");
}

TEST(DramScripts, AConflictWaitsForTheWriteToRecover) {
  // ACT, tRCD 19, then tCWL 18 + burst 4 + tWR 20 to the precharge.
  EXPECT_EQ(script(without_refresh(), {{Op::write, in_bank(3, 5)}, {Op::write, in_bank(4, 5)}}),
            "ACT@1 WR@20 PRE@62 ACT@81 WR@100");
}

Config two_ranks() {
  Config config = without_refresh();
  config.ranks = 2;
  return config;
}

TEST(DramScripts, ReadsFromSiblingRanksLeaveABubbleOnTheBus) {
  EXPECT_EQ(script(two_ranks(), {{Op::read, in_bank(0, 0, 0)}, {Op::read, in_bank(0, 16, 1)}}),
            "ACT@1 ACT@2 RD@20 RD@26");
}

TEST(DramScripts, WritesToSiblingRanksLeaveABubbleOnTheBus) {
  EXPECT_EQ(script(two_ranks(), {{Op::write, in_bank(0, 0, 0)}, {Op::write, in_bank(0, 16, 1)}}),
            "ACT@1 ACT@2 WR@20 WR@26");
}

/// A write is on its way when a read of another line comes; the distance from WR to RD.
Cycle write_to_read(const Config& config, const Location& write, const Location& read) {
  const AddressMapping mapping(config, "mapping");
  std::vector<Arrival> arrivals(3);
  // A first read opens the row that the last one hits, long before.
  arrivals[0].request.address = mapping.address(read, 0);
  arrivals[1].time = Tick(300'000);
  arrivals[1].request.op = Op::write;
  arrivals[1].request.address = mapping.address(write, 8);
  arrivals[2].time = Tick(300'000) + config.clock * (config.timing.rcd + 1);
  arrivals[2].request.address = mapping.address(read, 16);
  for (std::size_t i = 0; i < 3; ++i) arrivals[i].request.id = i;
  Tick written, delivered;
  for (const auto& command : drive(config, Mode::next_event, arrivals).commands) {
    if (command.command == Command::wr) written = command.time;
    if (command.command == Command::rd) delivered = command.time;
  }
  return (delivered - written) / config.clock;
}

TEST(DramScripts, AReadAfterAWriteWaitsForTheTurnaroundOfItsBankGroupOrRank) {
  const Config config = two_ranks();
  const Timing& t = config.timing;
  const Location write = in_bank(0, 0, 0);
  EXPECT_EQ(write_to_read(config, write, in_bank(0, 1, 0)), t.cwl + t.burst + t.wtr_l);
  EXPECT_EQ(write_to_read(config, write, in_bank(0, 4, 0)), t.cwl + t.burst + t.wtr_s);
  EXPECT_EQ(write_to_read(config, write, in_bank(0, 16, 1)), t.cwl + t.burst + t.rtrs - t.cl);
}

TEST(DramScripts, RefreshWaitsForAnAutoPrechargeToFinish) {
  Config config = ddr4_2666();
  config.page = PagePolicy::closed;
  const Timing& t = config.timing;
  const AddressMapping mapping(config, "mapping");
  // Reads that arrive around the first refresh: the one just before it decides when it goes.
  std::set<Cycle> distances;
  for (Cycle offset = 0; offset < 120; ++offset) {
    std::vector<Arrival> arrivals(1);
    arrivals[0].time = config.clock * (t.refi - 200 + offset);
    const auto commands = drive(config, Mode::next_event, arrivals, config.clock * t.refi).commands;
    Tick activated, read;
    for (const auto& command : commands) {
      if (command.command == Command::act) activated = command.time;
      if (command.command == Command::rda) read = command.time;
      if (command.command != Command::ref || read == Tick(0)) continue;
      distances.insert((command.time - read) / config.clock);
      EXPECT_GE((command.time - activated) / config.clock, t.rc);
      break;
    }
  }
  // tRC after the ACT binds longer than tRTP + tRP after the RDA.
  ASSERT_FALSE(distances.empty());
  EXPECT_EQ(*distances.begin(), std::max(t.rtp + t.rp, t.rc - t.rcd));
}

}  // namespace test_file
}  // namespace nearfar::sim::dram::testing
