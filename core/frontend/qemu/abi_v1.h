#pragma once

// Version 1 of the plug-in interface: QEMU 6 to 8. Registers cannot be read.

#include <algorithm>
#include <cstring>
#include <optional>

#include "frontend/qemu/abi.h"
#include "sim/cpu/block.h"

extern "C" const void* qemu_plugin_insn_data(const qemu_plugin_insn* instruction);

namespace nearfar::frontend::qemu {

inline constexpr int interface_version = 1;
inline constexpr qemu_plugin_cb_flags reading_registers = QEMU_PLUGIN_CB_NO_REGS;

/// Copies the instruction's bytes, at most `room`; returns how many.
inline std::size_t copy_bytes(const qemu_plugin_insn* instruction, void* to, std::size_t room) {
  const std::size_t size = std::min(room, qemu_plugin_insn_size(instruction));
  std::memcpy(to, qemu_plugin_insn_data(instruction), size);
  return size;
}

/// The value of a general register of the thread that calls, as far as it can be known.
inline std::optional<std::uint64_t> general_register(sim::cpu::Register) { return std::nullopt; }

}  // namespace nearfar::frontend::qemu
