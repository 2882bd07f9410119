#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "frontend/qemu/decode.h"
#include "frontend/qemu/pointer_loads.h"
#include "sim/cpu/block.h"

namespace nearfar::frontend::qemu {

/// What QEMU is to tell of an instruction when it executes.
enum class Told : std::uint8_t { nothing, line, access, marked };

/// A block as the simulated core gets it, and what recording its executions needs.
struct Translated {
  sim::cpu::Block block;
  std::vector<AddressForm> addresses;  ///< of each instruction, if the block has a flush
  std::vector<sim::cpu::InstructionKind> counted;  ///< of instructions that are told by kind
  PointerLoads pointers;
  std::vector<Told> told;  ///< of each instruction
  std::uint32_t counters_read = 0;     ///< rdtsc instructions
  std::uint32_t halts = 0;
  bool changes_tables = false;  ///< the page tables, or what TLBs know of them
  bool ends_repeating = false;         ///< its last instruction is a string instruction with rep
  std::uint64_t last_pc = 0;

  /// QEMU runs each step of a rep instruction after the first as a block of that instruction.
  [[nodiscard]] bool goes_on(const Translated& before) const {
    return block.instructions.size() == 1 && ends_repeating && before.ends_repeating &&
           before.last_pc == block.pc;
  }
};

/// All blocks ever translated. They stay: QEMU's code keeps pointers to them, and when it drops
/// its code and translates again the same block comes back, recognised by its bytes.
class Blocks {
 public:
  /// The block that `key`, its address and its bytes, stands for; made by `make` if it is new.
  template <typename Make>
  const Translated& get(const std::vector<std::uint8_t>& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    auto& place = blocks_[key];
    if (place == nullptr) place = std::make_unique<const Translated>(make());
    return *place;
  }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::uint8_t>& key) const {
      std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
      for (const std::uint8_t byte : key) hash = (hash ^ byte) * 0x100000001b3;
      return hash;
    }
  };

  std::mutex mutex_;
  std::unordered_map<std::vector<std::uint8_t>, std::unique_ptr<const Translated>, Hash> blocks_;
};

}  // namespace nearfar::frontend::qemu
