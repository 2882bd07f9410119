#include "sim/machine/build.h"

#include <utility>

#include "sim/link/link.h"
#include "sim/machine/machine.h"

namespace nearfar::sim {

std::unique_ptr<Device> build(const Settings& settings, dram::CommandLog* log) {
  std::unique_ptr<Device> memory = std::make_unique<Machine>(settings, log);
  if (!settings.has("link.kind") || settings.name("link.kind") == "none") return memory;
  return std::make_unique<link::Link>(link::config_from(settings), std::move(memory));
}

}  // namespace nearfar::sim
