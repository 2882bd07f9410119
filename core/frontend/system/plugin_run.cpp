// What `nearfar run --system` has the plug-in do.
//
// The machine is one for all of QEMU's threads, and QEMU's callbacks carry no pointer to it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "frontend/qemu/instructions.h"
#include "frontend/qemu/translate.h"
#include "frontend/system/abi.h"
#include "frontend/system/machine.h"
#include "frontend/system/plugin.h"

namespace nearfar::frontend::system {
namespace {

using qemu::CodeMode;
using qemu::Located;
using qemu::Told;
using qemu::Translated;

struct Simulated {
  Machine machine{folder()};
  qemu::Blocks blocks;
  CodeMode mode = CodeMode::bits16;  ///< of the block translated last
  const Translated* current = nullptr;  ///< that executes
};

Simulated* simulated = nullptr;  // as long as the process lives: QEMU may call until its very end

void on_block(unsigned, void* data) {
  simulated->current = static_cast<const Translated*>(data);
  simulated->machine.begin(*simulated->current);
}

void on_access(unsigned, std::uint32_t info, std::uint64_t address, void* data) {
  if (!simulated->machine.watches()) return;
  const qemu_plugin_hwaddr* const at = qemu_plugin_get_hwaddr(info, address);
  if (at == nullptr || qemu_plugin_hwaddr_is_io(at)) {
    simulated->machine.accesses_device();
    return;
  }
  simulated->machine.access(address, qemu_plugin_hwaddr_phys_addr(at),
                            1u << qemu_plugin_mem_size_shift(info), qemu::as_index(data),
                            qemu_plugin_mem_is_store(info));
}

/// By an instruction of which the decoder knows no access: of descriptor tables, by an interrupt.
void on_hidden_access(unsigned, std::uint32_t, std::uint64_t, void*) {
  simulated->machine.accesses_hidden();
}

/// A flush or prefetch: QEMU does nothing for it, so no access shows its address.
void on_line(unsigned, void* data) {
  const Translated* const block = simulated->current;
  const std::uint16_t index = qemu::as_index(data);
  if (block == nullptr || index >= block->addresses.size()) return;
  const std::optional<std::uint64_t> address = qemu::address_of(block->addresses[index]);
  const bool flush = block->block.instructions[index].kind != sim::cpu::InstructionKind::prefetch;
  simulated->machine.line(address ? &*address : nullptr, index, flush);
}

std::vector<Located> decode_all(const qemu_plugin_tb* tb, CodeMode mode) {
  std::vector<Located> out;
  std::uint64_t pc = qemu_plugin_tb_vaddr(tb);
  for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); ++i) {
    const qemu_plugin_insn* const handle = qemu_plugin_tb_get_insn(tb, i);
    const qemu::InstructionBytes one = qemu::bytes_of(handle);
    const std::size_t size = qemu_plugin_insn_size(handle);
    out.push_back({qemu::decode(std::span(one.bytes).first(one.size), pc, mode), size});
    pc += size;
  }
  return out;
}

/// QEMU does not tell the processor's mode. It tells how long each instruction is, which agrees
/// with the decoder's in the right mode alone, but for blocks that mean the same in several: of
/// those that agree the mode of the block before comes first.
std::vector<Located> decode_all(const qemu_plugin_tb* tb) {
  const bool high = qemu_plugin_tb_vaddr(tb) >> 32 != 0;
  const std::array modes{high ? CodeMode::bits64 : simulated->mode, CodeMode::bits64,
                         CodeMode::bits32, CodeMode::bits16};
  const auto agrees = [](const std::vector<Located>& all) {
    return std::ranges::all_of(all,
                               [](const Located& one) { return one.decoded.length == one.size; });
  };
  for (const CodeMode mode : modes) {
    std::vector<Located> found = decode_all(tb, mode);
    if (!agrees(found)) continue;
    simulated->mode = mode;
    return found;
  }
  return decode_all(tb, modes[0]);
}

void on_translation(std::uint64_t, qemu_plugin_tb* tb) {
  std::vector<Located> decoded = decode_all(tb);
  std::vector<std::uint8_t> key = qemu::key_of(tb);
  key.push_back(static_cast<std::uint8_t>(simulated->mode));
  const Translated& block = simulated->blocks.get(
      key, [&] { return qemu::translate(qemu_plugin_tb_vaddr(tb), decoded); });
  qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                       const_cast<Translated*>(&block));
  for (std::size_t i = 0; i < block.told.size(); ++i) {
    qemu_plugin_insn* const handle = qemu_plugin_tb_get_insn(tb, i);
    if (block.told[i] == Told::line) {
      qemu_plugin_register_vcpu_insn_exec_cb(handle, on_line, qemu::reading_registers,
                                             qemu::as_data(i));
    } else {
      const bool hidden = block.told[i] == Told::nothing;
      qemu_plugin_register_vcpu_mem_cb(handle, hidden ? on_hidden_access : on_access,
                                       QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                       qemu::as_data(i));
    }
  }
}

void on_exit(std::uint64_t, void*) { simulated->machine.end(); }

}  // namespace

void begin_running(std::uint64_t id) {
  simulated = std::make_unique<Simulated>().release();
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
}

}  // namespace nearfar::frontend::system
