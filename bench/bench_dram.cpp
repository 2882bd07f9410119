// One DDR4-2666 channel, driven directly: bench_dram STREAM REQUESTS, see streams.h.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "sim/dram/channel.h"
#include "streams.h"

namespace {

int run(const std::string& name, std::uint64_t requests) {
  const nearfar::sim::dram::Config config;
  bool known = false;
  const auto stream = nearfar::bench::stream_named(name, config.capacity(), known);
  if (!known) {
    std::fprintf(stderr, "bench_dram: no stream %s\n", name.c_str());
    return 2;
  }
  nearfar::sim::dram::Channel channel(config, 0);
  const auto outcome = nearfar::bench::play(channel, stream, requests);
  nearfar::bench::print(outcome);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_dram sequential|chase|random|mixed REQUESTS\n");
    return 2;
  }
  try {
    return run(argv[1], std::strtoull(argv[2], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_dram: %s\n", error.what());
    return 1;
  }
}
