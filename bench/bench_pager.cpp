// bench_pager WORKLOAD ROUNDS: a pager on a fake kernel (tests/cpp/fake_kernel.h) serves the faults
// of a generated program, or of a record of faults when WORKLOAD is a file (and ROUNDS its limit in
// pages). Prints what was counted, one "name value" a line. Under callgrind, started with
// --collect-atstart=no, only the pager is counted: neither the program nor the fake.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "pager_workload.h"

namespace nearfar::tier {
namespace {

struct Counted {
  const char* name;
  Count what;
};
constexpr Counted counted[] = {
    {"faults", Count::faults},
    {"copies_in", Count::copies_in},
    {"copies_out", Count::copies_out},
    {"first_touches", Count::first_touches},
    {"evictions", Count::evictions},
    {"second_chances", Count::second_chances},
    {"clean_drops", Count::clean_drops},
    {"zero_drops", Count::zero_drops},
    {"read_ahead", Count::read_ahead},
    {"read_ahead_hits", Count::read_ahead_hits},
    {"pinned", Count::pinned},
    {"over_budget", Count::over_budget},
    {"near_peak", Count::near_peak},
    {"managed_peak", Count::managed_peak},
    {"slots_peak", Count::slots_peak},
    {"stored_peak", Count::stored_peak},
    {"guarded_ins", Count::guarded_ins},
    {"guards_broken", Count::guards_broken},
    {"guarded_drops", Count::guarded_drops},
    {"filled_drops", Count::filled_drops},
    {"window_touches", Count::window_touches},
    {"huge_moves", Count::huge_moves},
    {"huge_ins", Count::huge_ins},
    {"ready_ins", Count::ready_ins},
    {"recycled_ins", Count::recycled_ins},
    {"split_ins", Count::split_ins},
    {"gathered", Count::gathered},
};

[[nodiscard]] RigOptions options_of(const std::string& workload) {
  if (workload == "small") return {.pages = 8192, .limit = 2048};
  if (workload == "huge") return {.pages = 65536, .limit = 24576};
  if (workload == "copying")
    return {.pages = 8192, .limit = 2048, .eviction = os::Eviction::copy, .huge_pages = false};
  if (workload == "compressed")
    return {.pages = 8192, .limit = 2048, .compression = Compression::lz4};
  if (workload == "file") return {.pages = 8192, .limit = 2048, .far_in_memory = false};
  return {};
}

int main(const std::string& workload, unsigned long n) {
  RigOptions options = options_of(workload);
  std::vector<Step> steps;
  if (workload.find('/') != std::string::npos) {
    steps = read_record(workload, options.pages);
    options.limit = n;
  } else {
    steps = Generator(1, options.pages).program(n);
  }
  PagerRig rig(options);
  run(rig, steps);
  for (const Counted& each : counted)
    std::printf("%s %lu\n", each.name, static_cast<unsigned long>(rig.count(each.what)));
  return 0;
}

}  // namespace
}  // namespace nearfar::tier

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "bench_pager WORKLOAD|./RECORD ROUNDS|LIMIT\n");
    return 2;
  }
  try {
    return nearfar::tier::main(argv[1], std::strtoul(argv[2], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_pager: %s\n", error.what());
    return 1;
  }
}
