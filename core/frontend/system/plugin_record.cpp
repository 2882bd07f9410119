// What `nearfar vm record` has the plug-in do.
//
// The guest is one for all of QEMU's threads, and QEMU's callbacks carry no pointer to it.

#include <exception>
#include <memory>

#include "frontend/system/abi.h"
#include "frontend/system/guest.h"
#include "frontend/system/plugin.h"

namespace nearfar::frontend::system {
namespace {

Guest* guest = nullptr;  // as long as the process lives: QEMU may call until its very end

void on_block(unsigned processor, void* data) {
  guest->executes(processor, reinterpret_cast<std::uintptr_t>(data));
}

void on_access(unsigned processor, std::uint32_t info, std::uint64_t address, void*) {
  const qemu_plugin_hwaddr* const at = qemu_plugin_get_hwaddr(info, address);
  if (at == nullptr || qemu_plugin_hwaddr_is_io(at)) return;
  try {
    guest->access(processor, Address(qemu_plugin_hwaddr_phys_addr(at)),
                  Bytes{1} << qemu_plugin_mem_size_shift(info), qemu_plugin_mem_is_store(info));
  } catch (const std::exception& error) {
    tell(error);
    guest->stop();
  }
}

void on_translation(std::uint64_t, qemu_plugin_tb* block) {
  const std::size_t count = qemu_plugin_tb_n_insns(block);
  qemu_plugin_register_vcpu_tb_exec_cb(
      block, on_block, QEMU_PLUGIN_CB_NO_REGS,
      reinterpret_cast<void*>(count));  // NOLINT(performance-no-int-to-ptr)
  for (std::size_t i = 0; i < count; ++i) {
    qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), on_access,
                                     QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, nullptr);
  }
}

void on_exit(std::uint64_t, void*) {
  try {
    guest->end();
  } catch (const std::exception& error) {
    tell(error);
  }
}

}  // namespace

void begin_recording(std::uint64_t id, std::size_t processors) {
  guest = std::make_unique<Guest>(folder(), processors).release();
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
}

}  // namespace nearfar::frontend::system
