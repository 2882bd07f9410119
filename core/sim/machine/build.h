#pragma once

#include <memory>

#include "base/settings.h"
#include "sim/device.h"
#include "sim/dram/command.h"

namespace nearfar::sim {

/// The memory that a resolved model describes, as the processor sees it: a machine, behind a
/// near memory if the model has one as a cache (`near.kind`), behind a link if it has one
/// (`link.kind`). With `link.place` far the link lies between near memory and machine.
///
/// `log`, if given, receives every DRAM command of the machine, `near_log` those of the near
/// memory; both must outlive the memory. Throws InputError when the settings do not make one.
[[nodiscard]] std::unique_ptr<Device> build(const Settings& settings,
                                            dram::CommandLog* log = nullptr,
                                            dram::CommandLog* near_log = nullptr);

/// The DRAM of near memory by itself: what `near.channels`, `near.interleave` and `near.dram`
/// describe.
[[nodiscard]] std::unique_ptr<Device> build_near_dram(const Settings& settings,
                                                      dram::CommandLog* log = nullptr);

}  // namespace nearfar::sim
