#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine_fixture.h"
#include "mock_device.h"
#include "sim/cpu/config.h"
#include "sim/cpu/cores.h"

/// Programs written down instruction by instruction, before a memory that takes 100 ns for
/// everything.
namespace nearfar::sim::cpu::testing {

inline constexpr Tick memory_latency(100'000);

/// Pages lie where the program sees them.
class SamePlace final : public PageMap {
 public:
  Frame frame_of(Address address) override {
    return {address.aligned_down(huge ? Tlb::huge_page : Tlb::small_page), huge};
  }
  [[nodiscard]] std::optional<Frame> find(Address address) const override {
    if (!tells) return std::nullopt;
    return Frame{address.aligned_down(huge ? Tlb::huge_page : Tlb::small_page), huge};
  }
  bool huge = true;
  bool tells = false;  ///< where a page is, to those that do not touch it
};

/// A block, and what one execution of it accesses.
struct Code {
  Block block;
  std::vector<Access> accesses;

  Code& add(Instruction instruction) {
    block.instructions.push_back(instruction);
    return *this;
  }
  Code& access(std::uint64_t address, bool store, std::uint16_t size = 8) {
    accesses.push_back({.address = address,
                        .size = size,
                        .instruction = static_cast<std::uint16_t>(block.instructions.size() - 1),
                        .store = store});
    return *this;
  }
};

struct Operands {
  std::initializer_list<int> sources{};
  std::initializer_list<int> destinations{};
  std::initializer_list<int> address{};
};

inline Instruction instruction(InstructionKind kind, std::uint8_t latency,
                               const Operands& operands = {}, std::uint8_t uops = 1) {
  Instruction made;
  made.kind = kind;
  made.latency = latency;
  made.uops = uops;
  const auto fill = [](auto& places, std::initializer_list<int> registers) {
    std::size_t i = 0;
    for (const int number : registers) places[i++] = static_cast<Register>(number);
  };
  fill(made.sources, operands.sources);
  fill(made.destinations, operands.destinations);
  fill(made.address_sources, operands.address);
  return made;
}

inline Instruction alu(const Operands& operands, std::uint8_t latency = 1) {
  return instruction(InstructionKind::plain, latency, operands);
}
inline Instruction mov_load(const Operands& operands) {
  return instruction(InstructionKind::load, 0, operands);
}
inline Instruction mov_store(const Operands& operands) {
  return instruction(InstructionKind::store, 1, operands);
}

/// Cores of 4 slots a cycle of 500 ps, with an L1 of 5 cycles that holds 64 lines.
struct CoreMachine {
  explicit CoreMachine(CoreConfig::Kind kind = CoreConfig::Kind::window,
                       const MockDevice::Config& memory = {.latency = memory_latency})
      : device(memory), config(Config::from(sim::testing::optane())) {
    core.kind = kind;
    core.period = Tick(500);
    core.width = 4;
    core.rob = 224;
    core.loads = 72;
    core.stores = 56;
    core.forward = Tick(2500);
    core.branch_penalty = Tick(8000);
    core.branch_targets = 4096;
    core.quantum = Tick(1'000'000);
    config.caches.l1.latency = Tick(2500);
    config.caches.tlb.second_latency = config.caches.tables.apart = Tick(0);
    config.caches.l1.size = 4096;
    config.caches.l2.size = 16 * 1024;
    config.caches.l3.size = 66 * 1024;
    config.caches.l3.slices = 3;
  }

  /// Everything before the first of these may be changed.
  Cores& cores() {
    if (!socket) {
      socket = std::make_unique<Socket>(device, config, 1);
      made = std::make_unique<Cores>(*socket, core, pages);
    }
    return *made;
  }
  void repeat(const Code& code, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) cores().feed(0, code.block, code.accesses);
  }
  Tick finish(Cores::Thread thread = 0) {
    if (!cores().catch_up(thread)) throw std::logic_error("the thread's input is not all here");
    return cores().clock(thread);
  }
  /// Cycles an execution of `code` takes, after the first 1000.
  double cycles_each(const Code& code, std::uint64_t times = 4000) {
    if (cores().size() == 0) cores().add();
    repeat(code, 1000);
    const Tick begin = finish();
    repeat(code, times);
    return static_cast<double>((finish() - begin).ps()) / 500.0 / static_cast<double>(times);
  }
  [[nodiscard]] const CoreCounts& counts(Cores::Thread thread = 0) {
    return cores().counts(thread);
  }
  [[nodiscard]] Tick miss() const { return config.read_out + memory_latency + config.read_back; }

  MockDevice device;
  Config config;
  CoreConfig core;
  SamePlace pages;
  std::unique_ptr<Socket> socket;
  std::unique_ptr<Cores> made;
};

}  // namespace nearfar::sim::cpu::testing
