#include "sim/cpu/core_config.h"

#include <bit>
#include <string>

#include "base/error.h"

namespace nearfar::sim::cpu {
namespace {

CoreConfig::Kind kind_of(const std::string& name) {
  if (name == "window") return CoreConfig::Kind::window;
  if (name == "simple") return CoreConfig::Kind::simple;
  throw InputError("cpu.core.kind: '" + name + "' is not known, expected window or simple");
}

}  // namespace

CoreConfig CoreConfig::from(const Settings& settings) {
  const auto count = [&](const char* key) {
    return static_cast<std::uint32_t>(settings.count(key));
  };
  CoreConfig config;
  config.kind = kind_of(settings.name("cpu.core.kind"));
  config.period = settings.time("cpu.clock_ps");
  config.width = count("cpu.core.width");
  config.rob = count("cpu.core.rob");
  config.loads = count("cpu.core.loads");
  config.stores = count("cpu.core.stores");
  config.forward = settings.time("cpu.core.forward");
  config.branch_penalty = settings.time("cpu.core.branch_penalty");
  config.branch_targets = count("cpu.core.branch_targets");
  config.wrong_path = settings.flag("cpu.core.wrong_path");
  config.quantum = settings.time("cpu.core.quantum");
  if (!std::has_single_bit(config.branch_targets)) {
    throw InputError("cpu.core.branch_targets: expected a power of two, found " +
                     std::to_string(config.branch_targets));
  }
  return config;
}

}  // namespace nearfar::sim::cpu
