#pragma once

#include <memory>

#include "base/settings.h"
#include "sim/device.h"
#include "sim/dram/command.h"

namespace nearfar::sim {

/// The memory that a resolved model describes, as the processor sees it: a machine, behind a
/// link if the model has one (`link.kind` other than none).
///
/// `log`, if given, receives every DRAM command and must outlive the memory. Throws InputError
/// when the settings do not make a machine.
[[nodiscard]] std::unique_ptr<Device> build(const Settings& settings,
                                            dram::CommandLog* log = nullptr);

}  // namespace nearfar::sim
