#include <algorithm>
#include <array>
#include <iterator>

#include "trace/format.h"

namespace nearfar::trace {

extern const Format ramulator;      // Ramulator 2 load/store and read/write traces
extern const Format ramulator_cpu;  // Ramulator 1 CPU traces, Ramulator 2 SimpleO3 traces
extern const Format dramsim3;       // also DRAMSim2
extern const Format vans;           // also Ramulator 1 memory traces
extern const Format lackey;         // what valgrind --tool=lackey --trace-mem=yes prints
extern const Format nvmain;
extern const Format dramsys;           // DRAMSys, times from the start (.stl)
extern const Format dramsys_relative;  // DRAMSys, times from the access before (.rstl)
extern const Format packed;            // our own
extern const Format gem5;
extern const Format champsim;
extern const Format memtrace;  // DynamoRIO's drmemtrace

namespace {

constexpr std::array all = {
    &ramulator, &ramulator_cpu,    &dramsim3, &vans, &lackey,   &nvmain,
    &dramsys,   &dramsys_relative, &packed,   &gem5, &champsim, &memtrace,
};

}  // namespace

std::span<const Format* const> formats() { return all; }

std::span<const Format* const> text_formats() {
  const auto first_of_bytes =
      std::ranges::find_if(all, [](const Format* format) { return !format->is_text(); });
  return {all.begin(), first_of_bytes};
}

const Format* find_format(std::string_view name) {
  const auto found = std::ranges::find(all, name, &Format::name);
  return found == all.end() ? nullptr : *found;
}

}  // namespace nearfar::trace
