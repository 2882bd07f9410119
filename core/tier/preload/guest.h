#pragma once

#include <array>
#include <cstddef>

namespace nearfar::tier::preload {

/// Of a program that is a virtual machine monitor: which of its mappings are its guest's memory.
/// Those alone are managed then; what the monitor has itself is not.
class Guest {
 public:
  /// What NEARFAR_TIER_GUEST says: the bytes of each of the guest's blocks of memory, with commas
  /// between. Ends the process with a message if it says something else.
  [[nodiscard]] static Guest started_with();

  /// Whether the program is such a one.
  [[nodiscard]] bool is_given() const { return count_ != 0; }

  /// Whether a mapping that asks for so much is one that QEMU reserves for a block of the guest's
  /// memory: one of those that it began with, or one that is plugged in later. (It reserves 2 MiB
  /// more than the block, without access, and then maps the block at a multiple of 2 MiB in it.)
  [[nodiscard]] bool reserves(std::size_t length, int protection, int flags) const;

 private:
  static constexpr std::size_t most = 32;
  std::array<std::size_t, most> blocks_{};
  std::size_t count_ = 0;
};

}  // namespace nearfar::tier::preload
