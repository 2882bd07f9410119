// A replay holds the device to account for every request.

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/rng.h"
#include "mock_device.h"
#include "sim/machine/replay.h"

namespace nearfar::sim {
namespace test_file {

using Fault = MockDevice::Fault;

void play(Device& device, std::string_view text) {
  Replay replay(device, trace::make_reader("t", "auto"),
                {.pace = Pace::asap, .clock = Tick{1'000}});
  replay.feed(text);
  static_cast<void>(replay.finish());
}

std::string random_reads(std::uint64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) {
    text += (rng.below(3) == 0 ? "ST " : "LD ") + std::to_string(rng.below(1 << 20)) + "\n";
  }
  return text;
}

/// A way a device can lose track of a request, and what it is then told.
struct Broken {
  Fault fault;
  std::string complaint;
};

class ReplayAccounting : public ::testing::TestWithParam<Broken> {};

TEST_P(ReplayAccounting, ABrokenDeviceIsReported) {
  for (const std::uint64_t healthy : {0, 1, 50, 99}) {
    MockDevice device({.slots = 8});
    device.misbehave(GetParam().fault, healthy);
    try {
      play(device, random_reads(100, 7));
      FAIL() << "after " << healthy << " healthy requests";
    } catch (const std::logic_error& error) {
      EXPECT_EQ(std::string_view(error.what()).substr(0, GetParam().complaint.size()),
                GetParam().complaint);
    }
  }
}

std::string fault_name(const ::testing::TestParamInfo<Broken>& info) {
  constexpr const char* names[] = {"None",    "Lost",  "Twice",     "OtherAddress",
                                   "OtherId", "Early", "NeverWoken"};
  return names[static_cast<std::size_t>(info.param.fault)];
}

INSTANTIATE_TEST_SUITE_P(
    Faults, ReplayAccounting,
    ::testing::Values(Broken{Fault::lose, "the memory has nothing left to do"},
                      Broken{Fault::never_wake, "the memory has nothing left to do"},
                      Broken{Fault::twice, "a completion that no request waits for"},
                      Broken{Fault::other_id, "a completion that no request waits for"},
                      Broken{Fault::other_address, "a completion with another request's address"},
                      Broken{Fault::early, "a completion from the future"}),
    fault_name);

}  // namespace test_file
}  // namespace nearfar::sim
