#pragma once

// What a plug-in uses of QEMU's interface for whole machines, beside frontend/qemu/abi.h. It is the
// same in all versions of the interface.

#include "frontend/qemu/abi.h"

extern "C" {

struct qemu_plugin_hwaddr;
const qemu_plugin_hwaddr* qemu_plugin_get_hwaddr(std::uint32_t info, std::uint64_t address);
bool qemu_plugin_hwaddr_is_io(const qemu_plugin_hwaddr* address);
std::uint64_t qemu_plugin_hwaddr_phys_addr(const qemu_plugin_hwaddr* address);

}  // extern "C"
