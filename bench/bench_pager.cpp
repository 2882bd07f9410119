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

int main(const std::string& workload, unsigned long n) {
  RigOptions options;
  std::vector<Step> steps;
  if (workload.find('/') != std::string::npos) {
    steps = read_record(workload, options.pages);
    options.limit = n;
  } else {
    options = options_of(workload);
    steps = Generator(1, options.pages).program(n);
  }
  PagerRig rig(options);
  run(rig, steps);
  for (std::size_t i = 0; i < number_of_counts; ++i)
    std::printf("%s %lu\n", all_counts[i].name,
                static_cast<unsigned long>(rig.count(static_cast<Count>(i))));
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
