// The plug-in that QEMU's system mode loads: records what of a whole machine reaches its memory, or
// has the machine run on a simulated one.

#include "frontend/system/plugin.h"

#include <exception>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "frontend/system/abi.h"

#define NEARFAR_EXPORT extern "C" __attribute__((visibility("default")))

namespace nearfar::frontend::system {
namespace {

std::string& the_folder() {
  static std::string folder;
  return folder;
}

void begin(std::uint64_t id, const qemu_info_t* info, std::string_view what) {
  if (std::string_view(info->target_name) != "x86_64" || !info->system_emulation) {
    throw InputError("expected QEMU's system mode for x86_64");
  }
  const auto processors = static_cast<std::size_t>(info->system.max_vcpus);
  if (what != "run") {
    begin_recording(id, processors);
  } else if (processors == 1) {
    begin_running(id);
  } else {
    throw InputError("found a machine of " + std::to_string(processors) +
                     " processors, expected one: -smp 1");
  }
}

}  // namespace

const std::string& folder() { return the_folder(); }

void tell(const std::exception& error) {
  std::ofstream(folder() + "/refused") << error.what() << '\n';
}

}  // namespace nearfar::frontend::system

using namespace nearfar::frontend::system;

int qemu_plugin_version = NEARFAR_QEMU_API;

NEARFAR_EXPORT int qemu_plugin_install(std::uint64_t id, const qemu_info_t* info, int argc,
                                       char** argv) {
  std::string_view what;
  for (const std::string_view word : std::span(argv, static_cast<std::size_t>(argc))) {
    if (word.starts_with("run=")) the_folder() = word.substr(4);
    if (word.starts_with("does=")) what = word.substr(5);
  }
  try {
    begin(id, info, what);
  } catch (const std::exception& error) {
    tell(error);
    return 1;
  }
  return 0;
}
