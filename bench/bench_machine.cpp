// A whole machine, driven at its memory controller: bench_machine SETTINGS STREAM BYTES REQUESTS.
// SETTINGS is a file that `nearfar model export` wrote; BYTES is the stream's footprint.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include "base/settings.h"
#include "sim/machine/build.h"
#include "streams.h"

namespace {

int run(const std::string& path, const std::string& name, nearfar::Bytes footprint,
        std::uint64_t requests) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  bool known = false;
  const auto stream = nearfar::bench::stream_named(name, footprint, known);
  if (!file || !known || footprint < nearfar::line_bytes) {
    std::fprintf(stderr, "bench_machine: cannot use %s %s %llu\n", path.c_str(), name.c_str(),
                 static_cast<unsigned long long>(footprint));
    return 2;
  }
  const auto memory = nearfar::sim::build(nearfar::Settings::parse(text));
  nearfar::bench::print(nearfar::bench::play(*memory, stream, requests));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr,
                 "usage: bench_machine SETTINGS sequential|chase|random|mixed BYTES REQUESTS\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10),
               std::strtoull(argv[4], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_machine: %s\n", error.what());
    return 1;
  }
}
