#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/cpu/block.h"

namespace nearfar::frontend::qemu {

struct Located;

/// Which loads of a block load pointers: those whose value becomes an address, perhaps in a later
/// block. Found by following registers, never by values: a load into a register, moves of that
/// register, and another access whose base it is.
///
/// What a block tells by itself is found at translation. Beyond that there are the bases that it
/// takes as it finds them, and what it leaves in registers, by which a thread's PointerOrigins
/// finds the rest as blocks execute. A load that was found stays one: for all threads, as long as
/// QEMU keeps coming back to the block.
class PointerLoads {
 public:
  PointerLoads() = default;
  explicit PointerLoads(std::span<const Located> instructions);

  /// Whether the instruction may turn out to be one: it moves 8 bytes from memory to a register.
  [[nodiscard]] bool may_be(std::size_t instruction) const {
    return instruction < may_be_.size() && may_be_[instruction];
  }
  [[nodiscard]] bool is(std::size_t instruction) const {
    return instruction < may_be_.size() && found_[instruction].load(std::memory_order_relaxed);
  }
  void found(std::size_t instruction) const {
    found_[instruction].store(true, std::memory_order_relaxed);
  }

 private:
  friend class PointerOrigins;
  static constexpr std::size_t registers = 16;  ///< general ones
  /// What a register has behind the block.
  struct Left {
    enum class From : std::uint8_t { before, load, other } from = From::other;
    std::uint16_t which = 0;  ///< the register before the block, or the load
  };

  std::vector<bool> may_be_;
  std::unique_ptr<std::atomic<bool>[]> found_;
  std::uint16_t bases_ = 0;  ///< one bit a register that is a base before it is written
  std::array<Left, registers> left_{};
};

/// Where a thread's registers got what is in them.
class PointerOrigins {
 public:
  /// The thread has executed a block, which stays where it is.
  void follow(const PointerLoads& block);

 private:
  struct Origin {
    const PointerLoads* block = nullptr;
    std::uint16_t load = 0;
  };
  std::array<Origin, PointerLoads::registers> origins_{};
};

}  // namespace nearfar::frontend::qemu
