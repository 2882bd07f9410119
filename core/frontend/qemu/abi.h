#pragma once

// The C functions of QEMU's TCG plug-in interface that are used here and are the same in all its
// versions. No package ships QEMU's header; QEMU's documentation ("QEMU TCG Plugins") describes
// them. QEMU itself provides them to the plug-ins that it loads.

#include <cstddef>
#include <cstdint>

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): names as QEMU's documentation has them.

// What the plug-in defines.
struct qemu_info_t {
  const char* target_name;
  struct {
    int min;
    int cur;
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus;
    int max_vcpus;
  } system;
};
extern __attribute__((visibility("default"))) int qemu_plugin_version;
int qemu_plugin_install(std::uint64_t id, const qemu_info_t* info, int argc, char** argv);

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

// NOLINTEND(readability-identifier-naming)

using qemu_plugin_udata_cb_t = void (*)(std::uint64_t id, void* data);
using qemu_plugin_vcpu_udata_cb_t = void (*)(unsigned vcpu, void* data);
using qemu_plugin_vcpu_mem_cb_t = void (*)(unsigned vcpu, std::uint32_t info, std::uint64_t address,
                                           void* data);
using qemu_plugin_tb_trans_cb_t = void (*)(std::uint64_t id, qemu_plugin_tb* block);
using qemu_plugin_syscall_cb_t = void (*)(std::uint64_t id, unsigned vcpu, std::int64_t number,
                                          std::uint64_t, std::uint64_t, std::uint64_t,
                                          std::uint64_t, std::uint64_t, std::uint64_t,
                                          std::uint64_t, std::uint64_t);
using qemu_plugin_syscall_ret_cb_t = void (*)(std::uint64_t id, unsigned vcpu, std::int64_t number,
                                              std::int64_t result);

void qemu_plugin_reset(std::uint64_t id, void (*callback)(std::uint64_t id));
void qemu_plugin_register_vcpu_tb_trans_cb(std::uint64_t id, qemu_plugin_tb_trans_cb_t callback);
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb* block,
                                          qemu_plugin_vcpu_udata_cb_t callback,
                                          qemu_plugin_cb_flags flags, void* data);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn* instruction,
                                            qemu_plugin_vcpu_udata_cb_t callback,
                                            qemu_plugin_cb_flags flags, void* data);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn* instruction,
                                      qemu_plugin_vcpu_mem_cb_t callback,
                                      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw direction,
                                      void* data);
void qemu_plugin_register_vcpu_syscall_cb(std::uint64_t id, qemu_plugin_syscall_cb_t callback);
void qemu_plugin_register_vcpu_syscall_ret_cb(std::uint64_t id,
                                              qemu_plugin_syscall_ret_cb_t callback);
void qemu_plugin_register_atexit_cb(std::uint64_t id, qemu_plugin_udata_cb_t callback, void* data);

std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* block);
std::uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb* block);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* block, std::size_t index);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn* instruction);
unsigned qemu_plugin_mem_size_shift(std::uint32_t info);
bool qemu_plugin_mem_is_store(std::uint32_t info);

}  // extern "C"
