#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "base/error.h"
#include "bindings/convert.h"
#include "probe/chase.h"
#include "probe/clock.h"
#include "probe/drop.h"
#include "probe/isa.h"
#include "probe/memory.h"
#include "probe/overwrite.h"
#include "probe/stream.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::probe;

namespace {

nb::dict to_dict(const std::vector<Chunk>& chunks) {
  nb::list ns;
  nb::list lines;
  nb::list at;
  for (const Chunk& chunk : chunks) {
    ns.append(chunk.ns);
    lines.append(chunk.lines);
    at.append(chunk.at);
  }
  nb::dict dict;
  dict["ns"] = ns;
  dict["lines"] = lines;
  dict["at"] = at;
  return dict;
}

void add(nb::dict& dict, const Disturbance& disturbance) {
  dict["nivcsw"] = disturbance.involuntary_switches;
  dict["steal_ns"] = disturbance.stolen_ns;
}

nb::dict to_dict(const Timings& timings) {
  nb::list threads;
  for (const std::vector<Chunk>& chunks : timings.threads) threads.append(to_dict(chunks));
  nb::dict dict;
  dict["threads"] = threads;
  add(dict, timings.disturbance);
  return dict;
}

/// The 64 bytes of a line; nothing for none.
std::optional<LineValue> line_value(const nb::bytes& bytes) {
  if (bytes.size() == 0) return std::nullopt;
  if (bytes.size() != line_bytes) {
    throw InputError("value: found " + std::to_string(bytes.size()) + " B, expected a line, 64 B");
  }
  LineValue value;
  std::memcpy(value.bytes.data(), bytes.c_str(), line_bytes);
  return value;
}

void new_memory(Memory* memory, Bytes bytes, const std::string& pages, int node,
                const std::string& path, bool destructive) {
  new (memory) Memory({.bytes = bytes,
                       .pages = parse_pages(pages),
                       .node = node,
                       .path = path,
                       .destructive = destructive});
}

nb::dict host_chase(const Memory& memory, Bytes region, Bytes block, Bytes stride,
                    const std::string& op, bool repeat, const std::string& fence,
                    const std::string& fence_kind, bool table, std::uint64_t lines,
                    std::uint64_t least_chunks, std::uint64_t seed, const std::vector<int>& cpus) {
  const Isa& isa = Isa::host();
  ChaseRequest request;
  request.region = region;
  request.block = block;
  request.stride = stride;
  request.read_after_write = op == "raw";
  request.op = parse_op(request.read_after_write ? "ntstore" : op, isa);
  request.repeat = repeat;
  request.fence_place = bindings::fence_place<FencePlace>(fence);
  request.fence = parse_fence(fence_kind);
  request.successor = table ? Successor::table : Successor::lines;
  request.lines = lines;
  request.least_chunks = least_chunks;
  request.seed = seed;
  request.cpus = cpus;
  return to_dict(chase(memory, request, bindings::raise_signals));
}

nb::dict host_overwrite(const Memory& memory, Bytes region, std::uint64_t writes,
                        const std::string& op, const std::string& fence_kind, int cpu) {
  OverwriteRequest request;
  request.region = region;
  request.writes = writes;
  request.op = parse_op(op, Isa::host());
  request.fence = parse_fence(fence_kind);
  request.cpu = cpu;
  const OverwriteTimes times = overwrite(memory, request, bindings::raise_signals);
  nb::dict dict;
  dict["ns"] = times.ns;
  add(dict, times.disturbance);
  return dict;
}

nb::dict host_stream(const Memory& memory, const std::string& op, Bytes access, Bytes stride,
                     Bytes area, std::uint32_t reads_percent, Bytes fence_every,
                     const std::string& fence_kind, std::uint64_t lines, std::uint64_t seed,
                     const std::vector<int>& cpus, const nb::bytes& value, const nb::bytes& held) {
  StreamRequest request;
  request.op = parse_op(op, Isa::host());
  request.access = access;
  request.stride = stride;
  request.area = area;
  request.reads_percent = reads_percent;
  request.fence_every = fence_every;
  request.fence = parse_fence(fence_kind);
  request.value = line_value(value);
  request.held = line_value(held);
  request.lines = lines;
  request.seed = seed;
  request.cpus = cpus;
  return to_dict(stream(memory, request, bindings::raise_signals));
}

nb::dict host_contention(const Memory& memory, const std::string& other, Bytes area,
                         std::uint64_t reads, double delay_ns, std::uint64_t seed,
                         const std::vector<int>& cpus) {
  ContentionRequest request;
  request.chases = other == "load";
  request.op = other == "load" || other == "none" ? Op::load : parse_op(other, Isa::host());
  request.area = area;
  request.reads = reads;
  request.delay_ns = delay_ns;
  request.seed = seed;
  request.cpus = cpus;
  const ContentionTimings timings = contention(memory, request, bindings::raise_signals);
  nb::dict dict = to_dict(timings.reader);
  dict["other_gb_per_s"] = timings.other_gb_per_s;
  add(dict, timings.disturbance);
  return dict;
}

nb::dict host_walk(const Memory& memory, const std::vector<std::uint64_t>& offsets, bool changes,
                   std::uint64_t chunks, double chunk_ns, std::uint64_t warm_passes, int cpu) {
  FollowRequest request;
  request.offsets = offsets;
  request.changes = changes;
  request.chunks = chunks;
  request.chunk_ns = chunk_ns;
  request.warm_passes = warm_passes;
  request.cpu = cpu;
  const Timings timings = follow(memory, request, bindings::raise_signals);
  nb::dict dict = to_dict(timings.threads[0]);
  add(dict, timings.disturbance);
  return dict;
}

nb::dict host_drop(const Memory& memory, std::uint64_t lines, bool changes, std::uint64_t chunks,
                   int cpu) {
  const DropRequest request{.lines = lines, .changes = changes, .chunks = chunks, .cpu = cpu};
  const Timings timings = drop(memory, request, bindings::raise_signals);
  nb::dict dict = to_dict(timings.threads[0]);
  add(dict, timings.disturbance);
  return dict;
}

nb::dict host_clock() {
  const Clock& clock = Clock::host();
  nb::dict dict;
  dict["tsc_hz"] = clock.hertz();
  dict["overhead_p10_ns"] = clock.overhead_p10_ns();
  dict["overhead_p50_ns"] = clock.overhead_p50_ns();
  dict["overhead_p90_ns"] = clock.overhead_p90_ns();
  return dict;
}

nb::dict host_isa() {
  const Isa& isa = Isa::host();
  nb::dict dict;
  dict["sse41"] = isa.sse41;
  dict["avx2"] = isa.avx2;
  dict["avx512f"] = isa.avx512f;
  dict["clflushopt"] = isa.clflushopt;
  dict["clwb"] = isa.clwb;
  dict["rdtscp"] = isa.rdtscp;
  dict["invariant_tsc"] = isa.invariant_tsc;
  dict["hypervisor"] = isa.hypervisor;
  return dict;
}

}  // namespace

void bind_probe(nb::module_& module) {
  nb::class_<Memory>(module, "HostMemory")
      .def("__init__", new_memory, "bytes"_a, nb::kw_only(), "pages"_a = "4KiB", "node"_a = -1,
           "path"_a = "", "destructive"_a = false)
      .def("size", &Memory::size)
      .def("synchronous", &Memory::synchronous)
      .def("chase", host_chase, nb::kw_only(), "region"_a, "block"_a, "stride"_a, "op"_a,
           "repeat"_a, "fence"_a, "fence_kind"_a, "table"_a, "lines"_a, "least_chunks"_a, "seed"_a,
           "cpus"_a)
      .def("overwrite", host_overwrite, nb::kw_only(), "region"_a, "writes"_a, "op"_a,
           "fence_kind"_a, "cpu"_a)
      .def("stream", host_stream, nb::kw_only(), "op"_a, "access"_a, "stride"_a, "area"_a,
           "reads_percent"_a, "fence_every"_a, "fence_kind"_a, "lines"_a, "seed"_a, "cpus"_a,
           "value"_a = nb::bytes("", 0), "held"_a = nb::bytes("", 0))
      .def("contention", host_contention, nb::kw_only(), "other"_a, "area"_a, "reads"_a,
           "delay_ns"_a, "seed"_a, "cpus"_a)
      .def("drop", host_drop, nb::kw_only(), "lines"_a, "changes"_a, "chunks"_a, "cpu"_a)
      .def("walk", host_walk, "offsets"_a, nb::kw_only(), "changes"_a = false, "chunks"_a = 32,
           "chunk_ns"_a = 50'000.0, "warm_passes"_a = 2, "cpu"_a = 0);
  module.def(
      "host_capacity",
      [](const std::string& path, bool destructive) { return inspect(path, destructive).capacity; },
      "path"_a, nb::kw_only(), "destructive"_a = false);
  module.def("host_clock", host_clock);
  module.def("host_isa", host_isa);
}
