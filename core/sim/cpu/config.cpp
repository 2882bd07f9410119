#include "sim/cpu/config.h"

#include <string>

#include "base/error.h"

namespace nearfar::sim::cpu {
namespace {

std::uint32_t number(const Settings& settings, const std::string& key) {
  return static_cast<std::uint32_t>(settings.count(key));
}

CacheConfig cache(const Settings& settings, const std::string& prefix) {
  CacheConfig config;
  config.size = settings.bytes(prefix + "size");
  config.ways = number(settings, prefix + "ways");
  config.latency = settings.time(prefix + "latency");
  config.mshrs = number(settings, prefix + "mshrs");
  config.policy = policy_of(settings.name(prefix + "policy"), prefix + "policy");
  return config;
}

TlbConfig tlb(const Settings& settings) {
  TlbConfig config;
  config.page = settings.bytes("cpu.page");
  config.entries = number(settings, "cpu.tlb.l1.entries");
  config.huge_entries = number(settings, "cpu.tlb.l1.huge_entries");
  config.ways = number(settings, "cpu.tlb.l1.ways");
  // Models that were exported before they could differ have one for both.
  const std::string huge_ways = "cpu.tlb.l1.huge_ways";
  config.huge_ways = settings.has(huge_ways) ? number(settings, huge_ways) : config.ways;
  config.second_entries = number(settings, "cpu.tlb.l2.entries");
  config.second_ways = number(settings, "cpu.tlb.l2.ways");
  config.second_latency = settings.time("cpu.tlb.l2.latency");
  config.directory_entries = number(settings, "cpu.tlb.directory");
  config.walkers = number(settings, "cpu.tlb.walkers");
  return config;
}

PrefetchConfig prefetch(const Settings& settings) {
  PrefetchConfig config;
  config.adjacent = settings.flag("cpu.prefetch.adjacent");
  config.stream = settings.flag("cpu.prefetch.stream");
  config.streams = number(settings, "cpu.prefetch.streams");
  config.degree = number(settings, "cpu.prefetch.degree");
  config.distance = number(settings, "cpu.prefetch.distance");
  config.next_page = settings.flag("cpu.prefetch.next_page");
  return config;
}

/// Models that were exported before there was such a thing have none.
PretranslationConfig pretranslation(const Settings& settings) {
  PretranslationConfig config;
  const std::string on = "nvdimm.pretranslation.enabled";
  if (!settings.has(on) || settings.name("machine") != "nvdimm" || !settings.flag(on)) {
    return config;
  }
  for (const char* other : {"near.kind", "link.kind"}) {
    if (settings.has(other) && settings.name(other) != "none") {
      throw InputError("model: " + on + " is true and " + other + " is '" + settings.name(other) +
                       "', of which Pre-translation knows nothing; expected " + other +
                       " = \"none\"");
    }
  }
  const std::string prefix = "cpu.pretranslation.";
  config.enabled = true;
  const std::string& walk = settings.name(prefix + "walk_starts");
  const std::string& hit = settings.name(prefix + "on_cache_hit");
  if (walk != "arrival" && walk != "use") {
    throw InputError("model: " + prefix + "walk_starts is '" + walk + "', expected arrival or use");
  }
  if (hit != "none" && hit != "probe") {
    throw InputError("model: " + prefix + "on_cache_hit is '" + hit + "', expected none or probe");
  }
  config.check_at_arrival = walk == "arrival";
  config.probe = hit == "probe";
  config.speculate = settings.flag(prefix + "speculate");
  config.entries = number(settings, prefix + "entries");
  // One place of a queue is always left for the walks that resolve the others.
  const std::uint32_t queue = number(settings, "imc.rpq.lines");
  if (queue < 2) {
    throw InputError("model: imc.rpq.lines is " + std::to_string(queue) +
                     ", expected at least 2 with " + on);
  }
  config.uncertain = queue - 1;
  config.update = settings.time("cpu.path.nt_out");
  return config;
}

HierarchyConfig hierarchy(const Settings& settings) {
  HierarchyConfig config;
  config.l1 = cache(settings, "cpu.l1.");
  config.l2 = cache(settings, "cpu.l2.");
  config.l3 = cache(settings, "cpu.l3.");
  config.l3.slices = number(settings, "cpu.l3.slices");
  config.inclusive = settings.flag("cpu.l3.inclusive");
  config.tlb = tlb(settings);
  config.prefetch = prefetch(settings);
  config.writebacks = number(settings, "cpu.writebacks");
  config.tables.apart = settings.time("cpu.table.latency");
  config.pretranslation = pretranslation(settings);
  return config;
}

}  // namespace

Config Config::from(const Settings& settings) {
  const auto count = [&](const char* key) { return number(settings, key); };
  Config config;
  config.cores = count("cpu.cores");
  config.load_buffers = count("cpu.load_buffers");
  config.wc_buffers = count("cpu.wc_buffers");
  config.store_lines = count("cpu.store_lines");
  config.store_queue = count("cpu.store_queue");
  config.flush_buffers = count("cpu.flush_buffers");
  config.rob = count("cpu.rob");
  config.load_issue = settings.time("cpu.issue.load");
  config.store_issue = settings.time("cpu.issue.store");
  config.read_out = settings.time("cpu.path.read_out");
  config.read_back = settings.time("cpu.path.read_back");
  config.nt_out = settings.time("cpu.path.nt_out");
  config.nt_back = settings.time("cpu.path.nt_back");
  config.flush_out = settings.time("cpu.path.flush_out");
  config.flush_back = settings.time("cpu.path.flush_back");
  config.flush_occupancy = settings.time("cpu.path.flush_occupancy");
  config.sfence = settings.time("cpu.fence.sfence");
  config.fence_lines_ahead = count("cpu.fence.lines_ahead");
  config.mfence = settings.time("cpu.fence.mfence");
  config.timer = settings.time("cpu.timer");
  config.line_instructions = count("cpu.instructions.line");
  config.strided_access_instructions = count("cpu.instructions.strided");
  config.random_access_instructions = count("cpu.instructions.random");
  config.reorder_reads = count("cpu.reorder.reads");
  config.reorder_writes = count("cpu.reorder.writes");
  config.cached = settings.flag("cpu.caches");
  config.clwb_keeps = settings.flag("cpu.clwb_keeps");
  config.caches = hierarchy(settings);
  config.writeback_lines = settings.bytes("cpu.l3.size") / line_bytes;
  return config;
}

Config Config::none(std::uint32_t outstanding) {
  Config config;
  config.cores = 1u << 16;
  config.load_buffers = outstanding;
  config.wc_buffers = outstanding;
  config.store_lines = outstanding;
  config.fence_lines_ahead = outstanding;
  config.store_queue = outstanding;
  config.flush_buffers = outstanding;
  config.rob = ~std::uint32_t{0};
  config.writeback_lines = 0;
  return config;
}

}  // namespace nearfar::sim::cpu
