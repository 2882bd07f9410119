#include "sim/machine/build.h"

#include <utility>

#include "sim/imc/near_memory.h"
#include "sim/link/link.h"
#include "sim/machine/machine.h"

namespace nearfar::sim {
namespace {

bool has(const Settings& settings, const char* part) {
  const std::string key = std::string(part) + ".kind";
  return settings.has(key) && settings.name(key) != "none";
}

std::unique_ptr<Device> behind_link(const Settings& settings, std::unique_ptr<Device> memory,
                                    bool observed) {
  return std::make_unique<link::Link>(link::config_from(settings), std::move(memory), observed);
}

}  // namespace

/// A machine like any other, described below `near.`.
std::unique_ptr<Device> build_near_dram(const Settings& settings, dram::CommandLog* log) {
  Settings own = settings.moved("near.dram.", "dram.");
  own.set("machine", "dram");
  own.set("channels", settings.name("near.channels"));
  own.set("imc.interleave", settings.name("near.interleave"));
  return std::make_unique<Machine>(own, log);
}

std::unique_ptr<Device> build(const Settings& settings, dram::CommandLog* log,
                              dram::CommandLog* near_log) {
  std::unique_ptr<Device> memory = std::make_unique<Machine>(settings, log);
  const bool observed = log != nullptr || near_log != nullptr;
  const bool linked = has(settings, "link");
  const bool far_link =
      linked && settings.has("link.place") && settings.name("link.place") == "far";
  if (far_link) memory = behind_link(settings, std::move(memory), observed);
  if (has(settings, "near") && settings.name("near.kind") == "cache") {
    memory = std::make_unique<imc::NearMemory>(
        imc::near_config_from(settings), build_near_dram(settings, near_log), std::move(memory));
  }
  if (linked && !far_link) memory = behind_link(settings, std::move(memory), observed);
  return memory;
}

}  // namespace nearfar::sim
