#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "machine_fixture.h"

/// The crash image, asked of the components (write pending queue, load-store queue, groups on
/// their way, read-modify-write buffer, media wherever wear-levelling has put the block), is at
/// every instant what the persistence domain accepted last.
namespace nearfar::sim::testing {
namespace test_file {

struct Covered {
  std::uint64_t instants = 0;
  std::uint64_t rewrites = 0;
  std::uint64_t moves = 0;
};

/// Random reads and writes; after every event each line written so far is compared.
void follow(std::uint64_t seed, Covered& covered) {
  Settings settings = random_optane(seed);
  settings.set("nvdimm.wear.writes", "50");
  settings.set("nvdimm.wear.stall", "100000");
  Machine machine(settings);
  Rng rng(seed);
  const std::uint64_t lines = 1 + rng.below(40);
  const std::uint64_t apart = rng.below(2) == 0 ? line_bytes : 4096 + line_bytes;
  std::map<std::uint64_t, DataHandle> shadow;
  Sink sink;
  Tick now{};
  bool waits = false;
  for (std::uint64_t step = 1; step <= 1500; ++step) {
    if (!waits) {
      Request request;
      request.id = step;
      request.address = Address(rng.below(lines) * apart);
      request.op = rng.below(4) == 0 ? Op::read : Op::write;
      request.data = request.op == Op::write ? step : 0;
      waits = !machine.try_send(request, now).accepted;
      if (!waits && request.op == Op::write) {
        covered.rewrites += shadow.contains(request.address.value());
        shadow[request.address.value()] = request.data;
      }
    }
    now = rng.below(3) == 0 ? now + Tick(rng.below(200'000)) : max(now, machine.next_event());
    machine.advance(now, sink);
    for (const Completion& completion : sink) {
      if (completion.kind == Completion::Kind::wake) waits = false;
    }
    sink.clear();
    ++covered.instants;
    for (const auto& [line, data] : shadow) {
      ASSERT_EQ(machine.durable(Address(line)), data) << "line " << line << ", step " << step;
    }
    ASSERT_EQ(machine.durable(Address(lines * apart)), 0u) << "a line that was never written";
  }
  for (const auto& [name, value] : counters_of(machine)) {
    if (name.ends_with("migrations")) covered.moves += value;
  }
}

TEST(Durable, DurableDataAreThoseAcceptedLastWhereverTheyLie) {
  Covered covered;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    follow(seed, covered);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(covered.instants, 50'000u);
  EXPECT_GT(covered.rewrites, 10'000u);
  EXPECT_GT(covered.moves, 10u) << "blocks move under their data";
}

}  // namespace test_file
}  // namespace nearfar::sim::testing
