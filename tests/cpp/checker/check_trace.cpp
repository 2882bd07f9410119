// Checks a command trace against JESD79-4:
//
//   check_trace TRACE.csv SETTINGS.txt PREFIX [DEVICE]
//
// SETTINGS is an exported model, PREFIX where its DRAM keys are (`dram`, `nvdimm.dram`).
// Channels are checked one by one; with DEVICE only that device's. Exit status 0 when every
// rule holds, 1 when not, 2 when the input cannot be used.

#include <fstream>
#include <iostream>
#include <sstream>

#include "base/error.h"
#include "checker.h"

namespace {

using namespace nearfar;

std::ifstream opened(const std::string& path) {
  std::ifstream in(path);
  if (!in || in.peek() == std::ifstream::traits_type::eof()) {
    throw InputError(path + " cannot be read, or is empty");
  }
  return in;
}

// Enough to see what is wrong without flooding a terminal.
constexpr std::size_t shown_per_channel = 20;

int run(const std::string& trace_path, const std::string& settings_path, const std::string& prefix,
        const std::string& device) {
  std::ostringstream settings;
  settings << opened(settings_path).rdbuf();
  const checker::Limits limits = checker::limits_from(settings.str(), prefix);
  std::ifstream in = opened(trace_path);
  const checker::TraceFile traces = checker::read_csv(in);

  std::size_t commands = 0;
  std::size_t channels = 0;
  std::size_t violations = 0;
  for (const auto& [where, trace] : traces) {
    if (!device.empty() && where.first != device) continue;
    ++channels;
    commands += trace.size();
    const checker::Findings findings = checker::check(trace, limits);
    violations += findings.violations.size();
    std::size_t shown = 0;
    for (const checker::Violation& violation : findings.violations) {
      if (shown++ == shown_per_channel) break;
      std::cout << where.first << " channel " << where.second << ": "
                << checker::describe(violation, trace) << '\n';
    }
  }
  if (channels == 0 && !device.empty()) {
    throw InputError(trace_path + " has no command of device " + device);
  }
  std::cout << commands << " commands, " << channels << " channels, " << violations
            << " violations\n";
  return violations == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: check_trace TRACE.csv SETTINGS.txt PREFIX [DEVICE]\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv[3], argc == 5 ? argv[4] : "");
  } catch (const InputError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
