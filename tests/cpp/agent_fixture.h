#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mock_device.h"
#include "scripted.h"
#include "sim/cpu/agent.h"

namespace nearfar::sim::testing {

/// Lists of steps, one a thread, that the request agent has played before a mock memory.
struct PlayedByAgent {
  PlayedByAgent(const cpu::Config& config, const std::vector<std::vector<cpu::Step>>& scripts,
                const MockDevice::Config& mock, const cpu::Agent::Limits& limits = {})
      : device(mock) {
    std::vector<std::unique_ptr<cpu::Program>> programs;
    for (const auto& script : scripts) programs.push_back(std::make_unique<Scripted>(script));
    cpu::Agent agent(device, config, 1);
    measured = agent.run(std::move(programs), limits);
    now = agent.now();
    if (agent.caches() == nullptr) return;
    Counters registered;
    agent.caches()->register_counters(registered);
    for (const auto& [name, value] : registered.read()) counters[name] = value;
  }

  MockDevice device;
  cpu::Agent::Measured measured;
  Tick now;
  std::map<std::string, std::uint64_t> counters;  ///< of the caches, if there are any
};

}  // namespace nearfar::sim::testing
