#pragma once

// Version 4 of the plug-in interface: QEMU 9.2 and later. Registers can be read, which tells the
// addresses of cache flushes.

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "frontend/qemu/abi.h"
#include "sim/cpu/block.h"

extern "C" {

struct qemu_plugin_register;
struct qemu_plugin_reg_descriptor {  // NOLINT(readability-identifier-naming)
  qemu_plugin_register* handle;
  const char* name;
  const char* feature;
};

// GLib's growing arrays, in which registers come; GLib is in QEMU's process already.
struct GArray {
  char* data;
  unsigned len;
};
struct GByteArray {
  std::uint8_t* data;
  unsigned len;
};
GByteArray* g_byte_array_new();
GByteArray* g_byte_array_set_size(GByteArray* array, unsigned length);
char* g_array_free(GArray* array, int free_segment);

std::size_t qemu_plugin_insn_data(const qemu_plugin_insn* instruction, void* to, std::size_t room);
GArray* qemu_plugin_get_registers();
int qemu_plugin_read_register(qemu_plugin_register* handle, GByteArray* to);

}  // extern "C"

namespace nearfar::frontend::qemu {

inline constexpr int interface_version = 4;
inline constexpr qemu_plugin_cb_flags reading_registers = QEMU_PLUGIN_CB_R_REGS;

inline std::size_t copy_bytes(const qemu_plugin_insn* instruction, void* to, std::size_t room) {
  return qemu_plugin_insn_data(instruction, to, room);
}

/// The general registers of the thread that calls, found by name once.
class GeneralRegisters {
 public:
  GeneralRegisters() : buffer_(g_byte_array_new()) {
    GArray* found = qemu_plugin_get_registers();
    for (unsigned i = 0; i < found->len; ++i) {
      qemu_plugin_reg_descriptor descriptor{};
      std::memcpy(&descriptor, found->data + i * sizeof descriptor, sizeof descriptor);
      for (std::size_t number = 0; number < names.size(); ++number) {
        if (names[number] == descriptor.name) handles_[number] = descriptor.handle;
      }
    }
    g_array_free(found, 1);
  }

  [[nodiscard]] std::optional<std::uint64_t> read(sim::cpu::Register number) const {
    if (number >= names.size() || handles_[number] == nullptr) return std::nullopt;
    g_byte_array_set_size(buffer_, 0);
    std::uint64_t value = 0;
    if (qemu_plugin_read_register(handles_[number], buffer_) < 0) return std::nullopt;
    if (buffer_->len < sizeof value) return std::nullopt;
    std::memcpy(&value, buffer_->data, sizeof value);
    return value;
  }

 private:
  static constexpr std::array<std::string_view, 16> names{"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                          "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                          "r12", "r13", "r14", "r15"};
  std::array<qemu_plugin_register*, names.size()> handles_{};
  GByteArray* buffer_;  ///< GLib's, for as long as the thread lives
};

inline std::optional<std::uint64_t> general_register(sim::cpu::Register number) {
  thread_local const GeneralRegisters registers;
  return registers.read(number);
}

}  // namespace nearfar::frontend::qemu
