#pragma once

// What a plug-in reads of QEMU's translations, by the version of the interface that it is built
// for.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#if NEARFAR_QEMU_API == 1
#include "frontend/qemu/abi_v1.h"
#else
#include "frontend/qemu/abi_v4.h"
#endif
#include "frontend/qemu/decode.h"

namespace nearfar::frontend::qemu {

/// An instruction's bytes, as far as QEMU has read them.
struct InstructionBytes {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t size = 0;
};
inline InstructionBytes bytes_of(const qemu_plugin_insn* instruction) {
  InstructionBytes out;
  out.size = copy_bytes(instruction, out.bytes.data(), out.bytes.size());
  return out;
}

/// The block's address and its bytes.
inline std::vector<std::uint8_t> key_of(const qemu_plugin_tb* tb) {
  std::vector<std::uint8_t> key;
  const std::uint64_t pc = qemu_plugin_tb_vaddr(tb);
  key.resize(sizeof pc);
  for (std::size_t i = 0; i < sizeof pc; ++i) key[i] = static_cast<std::uint8_t>(pc >> 8 * i);
  for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); ++i) {
    const InstructionBytes one = bytes_of(qemu_plugin_tb_get_insn(tb, i));
    key.insert(key.end(), one.bytes.begin(),
               one.bytes.begin() + static_cast<std::ptrdiff_t>(one.size));
  }
  return key;
}

/// Where the thread that calls has what an instruction names, as far as that can be known.
inline std::optional<std::uint64_t> address_of(const AddressForm& form) {
  if (!form.known) return std::nullopt;
  auto address = static_cast<std::uint64_t>(form.displacement);
  if (form.base != sim::cpu::no_register) {
    const auto base = general_register(form.base);
    if (!base) return std::nullopt;
    address += *base;
  }
  if (form.index != sim::cpu::no_register) {
    const auto index = general_register(form.index);
    if (!index) return std::nullopt;
    address += *index * form.scale;
  }
  return address;
}

inline void* as_data(std::size_t index) {
  return reinterpret_cast<void*>(index);  // NOLINT(performance-no-int-to-ptr)
}
inline std::uint16_t as_index(void* data) {
  return static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(data));
}

}  // namespace nearfar::frontend::qemu
