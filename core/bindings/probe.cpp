#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "base/error.h"
#include "bindings/convert.h"
#include "bindings/fields.h"
#include "probe/chase.h"
#include "probe/clock.h"
#include "probe/core_loop.h"
#include "probe/drop.h"
#include "probe/isa.h"
#include "probe/loaded.h"
#include "probe/memory.h"
#include "probe/overwrite.h"
#include "probe/stream.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::probe;

namespace nearfar::bindings {

template <>
struct FieldReader<Op> {
  static Op read(nb::handle value) { return parse_op(nb::cast<std::string>(value), Isa::host()); }
};

template <>
struct FieldReader<Fence> {
  static Fence read(nb::handle value) { return parse_fence(nb::cast<std::string>(value)); }
};

template <>
struct FieldReader<FencePlace> {
  static FencePlace read(nb::handle value) {
    return fence_place<FencePlace>(nb::cast<std::string>(value));
  }
};

template <>
struct FieldReader<Successor> {
  static Successor read(nb::handle value) {
    const auto name = nb::cast<std::string>(value);
    if (name == "lines") return Successor::lines;
    if (name == "table") return Successor::table;
    throw InputError("successors: found '" + name + "', expected lines or table");
  }
};

/// The 64 bytes of a line; none where there are no bytes.
template <>
struct FieldReader<std::optional<LineValue>> {
  static std::optional<LineValue> read(nb::handle value) {
    const auto bytes = nb::cast<nb::bytes>(value);
    if (bytes.size() == 0) return std::nullopt;
    if (bytes.size() != line_bytes) {
      throw InputError("value: found " + std::to_string(bytes.size()) +
                       " B, expected a line, 64 B");
    }
    LineValue line;
    std::memcpy(line.bytes.data(), bytes.c_str(), line_bytes);
    return line;
  }
};

}  // namespace nearfar::bindings

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

void new_memory(Memory* memory, Bytes bytes, const std::string& pages, int node,
                const std::string& path, bool destructive) {
  new (memory) Memory({.bytes = bytes,
                       .pages = parse_pages(pages),
                       .node = node,
                       .path = path,
                       .destructive = destructive});
}

nb::dict host_chase(const Memory& memory, const ChaseRequest& request) {
  return to_dict(chase(memory, request, bindings::raise_signals));
}

nb::dict host_overwrite(const Memory& memory, const OverwriteRequest& request) {
  const OverwriteTimes times = overwrite(memory, request, bindings::raise_signals);
  nb::dict dict;
  dict["ns"] = times.ns;
  add(dict, times.disturbance);
  return dict;
}

nb::dict host_stream(const Memory& memory, const StreamRequest& request) {
  return to_dict(stream(memory, request, bindings::raise_signals));
}

nb::dict host_contention(const Memory& memory, const ContentionRequest& request) {
  const ContentionTimings timings = contention(memory, request, bindings::raise_signals);
  nb::dict dict = to_dict(timings.reader);
  dict["other_gb_per_s"] = timings.other_gb_per_s;
  add(dict, timings.disturbance);
  return dict;
}

nb::dict host_loaded(const Memory& memory, const LoadedRequest& request) {
  const LoadedTimings timings = loaded(memory, request, bindings::raise_signals);
  nb::dict dict = to_dict(timings.reader);
  dict["loads_per_ns"] = timings.loads_per_ns;
  dict["stores_per_ns"] = timings.stores_per_ns;
  add(dict, timings.disturbance);
  return dict;
}

/// The timings of a request whose work one thread does.
nb::dict of_one_thread(const Timings& timings) {
  nb::dict dict = to_dict(timings.threads[0]);
  add(dict, timings.disturbance);
  return dict;
}

nb::dict host_walk(const Memory& memory, const FollowRequest& request) {
  return of_one_thread(follow(memory, request, bindings::raise_signals));
}

nb::dict host_drop(const Memory& memory, const DropRequest& request) {
  return of_one_thread(drop(memory, request, bindings::raise_signals));
}

nb::dict host_core_loop(const Memory& memory, const CoreLoopRequest& request) {
  return of_one_thread(core_loop(memory, request, bindings::raise_signals));
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
  bindings::bind_fields<ChaseRequest>(module, "ChaseRequest");
  bindings::bind_fields<OverwriteRequest>(module, "OverwriteRequest");
  bindings::bind_fields<StreamRequest>(module, "StreamRequest");
  bindings::bind_fields<ContentionRequest>(module, "ContentionRequest");
  bindings::bind_fields<LoadedRequest>(module, "LoadedRequest");
  bindings::bind_fields<FollowRequest>(module, "WalkRequest");
  bindings::bind_fields<DropRequest>(module, "DropRequest");
  bindings::bind_fields<CoreLoopRequest>(module, "CoreLoopRequest");
  nb::class_<Memory>(module, "HostMemory")
      .def("__init__", new_memory, "bytes"_a, nb::kw_only(), "pages"_a = "4KiB", "node"_a = -1,
           "path"_a = "", "destructive"_a = false)
      .def("size", &Memory::size)
      .def("synchronous", &Memory::synchronous)
      .def("chase", host_chase, "request"_a)
      .def("overwrite", host_overwrite, "request"_a)
      .def("stream", host_stream, "request"_a)
      .def("contention", host_contention, "request"_a)
      .def("loaded", host_loaded, "request"_a)
      .def("drop", host_drop, "request"_a)
      .def("core_loop", host_core_loop, "request"_a)
      .def("walk", host_walk, "request"_a);
  module.def(
      "host_capacity",
      [](const std::string& path, bool destructive) { return inspect(path, destructive).capacity; },
      "path"_a, nb::kw_only(), "destructive"_a = false);
  module.def("host_clock", host_clock);
  module.def("host_isa", host_isa);
}
