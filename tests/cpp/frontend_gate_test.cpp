// Threads that run side by side stay within a quantum; none waits for a thread that is away.

#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <thread>

#include "frontend/qemu/gate.h"

namespace nearfar::frontend::qemu {
namespace test_file {

TEST(Gate, TheGateHoldsTheFastThreadUntilTheSlowOneHasCome) {
  std::mutex mutex;
  Gate gate;
  std::array<Tick, 2> at{};
  const std::array members{gate.join(Tick()), gate.join(Tick())};
  Tick widest{};
  const auto run = [&](std::size_t me) {
    for (int i = 0; i < 2000; ++i) {
      std::unique_lock lock(mutex);
      at[me] += Tick(1);
      gate.stay(lock, members[me], at[me],
                [&](Tick slowest) { return at[me] > slowest + Tick(10); });
      widest = max(widest, max(at[0], at[1]) - min(at[0], at[1]));
    }
    const std::lock_guard lock(mutex);
    gate.leave(members[me], at[me]);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  // One step beyond the quantum takes a thread to the gate, where it waits; unless the other did
  // not move at all for the gate's patience, which a loaded machine may bring about.
  EXPECT_EQ(at[0], Tick(2000));
  EXPECT_EQ(at[1], Tick(2000));
  RecordProperty("widest_ps", static_cast<int>(widest.ps()));
}

TEST(Gate, TheGateKnowsTheSlowestThreadInside) {
  Gate gate;
  const Gate::Member a = gate.join(Tick(5));
  const Gate::Member b = gate.join(Tick(7));
  EXPECT_EQ(gate.slowest(), Tick(5));
  gate.leave(a, Tick(6));
  EXPECT_EQ(gate.slowest(), Tick(7));
  EXPECT_EQ(gate.woken(), Tick(7));
  gate.leave(b, Tick(9));
  EXPECT_TRUE(gate.slowest().is_never());
  EXPECT_EQ(gate.woken(), Tick(9));
  gate.come(a, Tick(9));
  EXPECT_EQ(gate.slowest(), Tick(9));
}

TEST(Gate, TheGateLetsAThreadGoOnAloneWhenAllOthersAreAway) {
  std::mutex mutex;
  Gate gate;
  const Gate::Member a = gate.join(Tick());
  const Gate::Member b = gate.join(Tick());
  gate.leave(b, Tick());
  std::unique_lock lock(mutex);
  gate.stay(lock, a, Tick(1'000'000), [](Tick slowest) { return slowest != Tick(1'000'000); });
  EXPECT_EQ(gate.slowest(), Tick(1'000'000));
}

}  // namespace test_file
}  // namespace nearfar::frontend::qemu
