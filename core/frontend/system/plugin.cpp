// The plug-in that QEMU's system mode loads: records what of a whole machine reaches its memory.
//
// The guest is one for all of QEMU's threads, and QEMU's callbacks carry no pointer to it: it is
// this library's one global.

#include "frontend/system/abi.h"

#include <exception>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "frontend/system/guest.h"

#define NEARFAR_EXPORT extern "C" __attribute__((visibility("default")))

namespace nearfar::frontend::system {
namespace {

Guest* guest = nullptr;  // as long as the process lives: QEMU may call until its very end
std::string folder;

/// `nearfar vm record` prints it; QEMU says only that the plug-in failed to begin.
void tell(const std::exception& error) {
  std::ofstream(folder + "/refused") << error.what() << '\n';
}

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
}  // namespace nearfar::frontend::system

using namespace nearfar::frontend::system;

int qemu_plugin_version = NEARFAR_QEMU_API;

NEARFAR_EXPORT int qemu_plugin_install(std::uint64_t id, const qemu_info_t* info, int argc,
                                       char** argv) {
  constexpr std::string_view run = "run=";
  for (const std::string_view word : std::span(argv, static_cast<std::size_t>(argc))) {
    if (word.starts_with(run)) folder = word.substr(run.size());
  }
  try {
    if (std::string_view(info->target_name) != "x86_64" || !info->system_emulation) {
      throw nearfar::InputError("expected QEMU's system mode for x86_64");
    }
    const auto processors = static_cast<std::size_t>(info->system.max_vcpus);
    guest = std::make_unique<Guest>(folder, processors).release();
  } catch (const std::exception& error) {
    tell(error);
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
  return 0;
}
