// bench_trace THREADS N: reads N records of a trace in nearfar's own format, as one is recorded
// of a program with so many threads: lines with the times at which memory was asked for them.
// Prints records, the time they span in ps, records again, and nought, as bench/run.py reads it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/rng.h"
#include "trace/packed.h"

namespace {

using namespace nearfar;

constexpr std::uint64_t chunk_records = 20'000;

/// Runs of neighbouring lines that begin anywhere in 4 GiB; a quarter are written. Their order
/// is random.
std::string made(std::uint64_t threads) {
  Rng rng(1);
  trace::PackedWriter writer({.timing = {.absolute = true, .clock_ps = 1}});
  std::vector<std::uint64_t> lines(threads);
  std::string bytes;
  std::uint64_t now = 0;
  for (std::uint64_t i = 0; i < chunk_records; ++i) {
    const std::uint64_t thread = rng.below(threads);
    std::uint64_t& line = lines[thread];
    line = rng.below(4) == 0 ? rng.below(1 << 26) : line + 1;
    now += rng.below(100'000);
    writer.put({.address = Address(line * line_bytes),
                .cycles = now,
                .size = line_bytes,
                .thread = static_cast<std::uint16_t>(thread),
                .access = rng.below(4) == 0 ? trace::Access::write : trace::Access::read,
                .absolute = true},
               bytes);
  }
  writer.finish(bytes);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "bench_trace THREADS N\n");
    return 2;
  }
  const std::string bytes = made(std::strtoull(argv[1], nullptr, 10));
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10) / chunk_records;

  unsigned long long records = 0;
  unsigned long long span = 0;
  std::vector<trace::Record> out;
  constexpr std::size_t piece = 64 * 1024;  // as a replay takes them
  for (std::uint64_t i = 0; i < count; ++i) {
    trace::PackedReader reader("bench");
    for (std::string_view rest = bytes; !rest.empty();) {
      reader.feed(rest.substr(0, piece), out);
      rest.remove_prefix(rest.size() < piece ? rest.size() : piece);
      records += out.size();
      if (!out.empty()) span += out.back().cycles;
      out.clear();
    }
    reader.finish(out);
  }
  std::printf("%llu %llu %llu 0\n", records, span, records);
  return 0;
}
