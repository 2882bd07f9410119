#include "probe/disturbance.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace nearfar::probe {
namespace {

double stolen_ns(int cpu) {
  std::ifstream stat("/proc/stat");
  const std::string name = "cpu" + std::to_string(cpu) + " ";
  for (std::string line; std::getline(stat, line);) {
    if (!line.starts_with(name)) continue;
    // proc(5): user nice system idle iowait irq softirq steal, in ticks
    std::istringstream fields(line.substr(name.size()));
    std::uint64_t ticks = 0;
    for (int field = 0; field < 8; ++field) fields >> ticks;
    return static_cast<double>(ticks) * 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return 0;
}

Disturbance now(int cpu) {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {static_cast<std::uint64_t>(usage.ru_nivcsw), stolen_ns(cpu)};
}

}  // namespace

DisturbanceMeter::DisturbanceMeter(int cpu) : cpu_(cpu), start_(now(cpu)) {}

Disturbance DisturbanceMeter::since() const {
  const Disturbance end = now(cpu_);
  return {end.involuntary_switches - start_.involuntary_switches, end.stolen_ns - start_.stolen_ns};
}

}  // namespace nearfar::probe
