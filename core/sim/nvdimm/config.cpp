#include "sim/nvdimm/config.h"

#include <string>

#include "base/error.h"

namespace nearfar::sim::nvdimm {
namespace {

Replacement replacement(const std::string& name, const std::string& key) {
  if (name == "fifo") return Replacement::fifo;
  if (name == "lru") return Replacement::lru;
  if (name == "random") return Replacement::random;
  throw InputError("model: " + key + " is '" + name + "', expected fifo, lru or random");
}

Fill fill(const std::string& name) {
  if (name == "none") return Fill::none;
  if (name == "sector") return Fill::sector;
  if (name == "page") return Fill::page;
  throw InputError("model: nvdimm.buffer.2.fill is '" + name + "', expected none, sector or page");
}

BufferConfig buffer(const Settings& settings, const std::string& prefix) {
  BufferConfig config;
  config.entries = static_cast<std::uint32_t>(settings.count(prefix + "entries"));
  config.entry = settings.bytes(prefix + "entry");
  config.ways = static_cast<std::uint32_t>(settings.count(prefix + "ways"));
  config.policy = replacement(settings.name(prefix + "policy"), prefix + "policy");
  config.latency = settings.time(prefix + "latency");
  if (config.entries == 0 || config.ways == 0 || config.entries % config.ways != 0) {
    throw InputError("model: " + prefix + "ways is " + std::to_string(config.ways) +
                     ", expected a divisor of " + prefix + "entries, " +
                     std::to_string(config.entries));
  }
  return config;
}

MediaConfig media(const Settings& settings) {
  MediaConfig config;
  config.capacity = settings.bytes("capacity");
  config.access = settings.bytes("nvdimm.media.access");
  config.partitions = static_cast<std::uint32_t>(settings.count("nvdimm.media.partitions"));
  config.read_latency = settings.time("nvdimm.media.read_latency");
  config.read_interval = settings.time("nvdimm.media.read_interval");
  config.read_partition = settings.time("nvdimm.media.read_partition");
  config.write_interval = settings.time("nvdimm.media.write_interval");
  config.write_partition = settings.time("nvdimm.media.write_partition");
  config.write_queue = static_cast<std::uint32_t>(settings.count("nvdimm.media.write_queue"));
  config.write_high = static_cast<std::uint32_t>(settings.count("nvdimm.media.write_high"));
  config.write_batch = static_cast<std::uint32_t>(settings.count("nvdimm.media.write_batch"));
  config.read_batch = static_cast<std::uint32_t>(settings.count("nvdimm.media.read_batch"));
  config.read_energy_pj = settings.real("nvdimm.media.read_energy");
  config.write_energy_pj = settings.real("nvdimm.media.write_energy");
  config.budget_mw = settings.real("nvdimm.power_budget");
  config.static_mw = settings.real("nvdimm.power_static");
  return config;
}

WearConfig wear(const Settings& settings) {
  WearConfig config;
  config.writes = settings.count("nvdimm.wear.writes");
  config.spread = settings.real("nvdimm.wear.spread");
  config.block = settings.bytes("nvdimm.wear.block");
  config.stall = settings.time("nvdimm.wear.stall");
  config.spares = settings.count("nvdimm.wear.spares");
  for (int family = 0; family < 2; ++family) {
    const std::string prefix = "nvdimm.wear.minor." + std::to_string(family + 1) + ".";
    config.minor[family].interval = settings.count(prefix + "interval");
    config.minor[family].stall = settings.time(prefix + "stall");
  }
  return config;
}

/// `whole` must be a multiple of `part`, at most 64 times as large: one bit a part.
void check_fits(Bytes part, const char* part_name, Bytes whole, const char* whole_name) {
  if (part == 0 || whole % part != 0 || whole / part > 64) {
    throw InputError(std::string("model: ") + whole_name + " is " + std::to_string(whole) +
                     " B, expected 1 to 64 times " + part_name + ", " + std::to_string(part) +
                     " B");
  }
}

}  // namespace

Config config_from(const Settings& settings) {
  Config config;
  config.lsq.lines = static_cast<std::uint32_t>(settings.count("nvdimm.lsq.lines"));
  config.lsq.high = static_cast<std::uint32_t>(settings.count("nvdimm.lsq.high"));
  config.lsq.drain_on_fence = settings.flag("nvdimm.lsq.drain_on_fence");
  config.lsq.hold = settings.time("nvdimm.lsq.hold");
  config.lsq.latency = settings.time("nvdimm.lsq.latency");
  config.rmw = buffer(settings, "nvdimm.buffer.1.");
  config.rmw_lanes = static_cast<std::uint32_t>(settings.count("nvdimm.buffer.1.lanes"));
  config.rmw_line = settings.time("nvdimm.buffer.1.line");
  config.ait = buffer(settings, "nvdimm.buffer.2.");
  config.fill = fill(settings.name("nvdimm.buffer.2.fill"));
  config.data_latency = settings.time("nvdimm.buffer.2.data_latency");
  config.table_latency = settings.time("nvdimm.table.latency");
  config.table_entry = settings.bytes("nvdimm.table.entry");
  config.media = media(settings);
  config.wear = wear(settings);
  config.dram = dram::config_from(settings, "nvdimm.dram.");
  config.seed = settings.count("seed");

  check_fits(line_bytes, "a line", config.rmw.entry, "nvdimm.rmw.entry");
  check_fits(config.rmw.entry, "nvdimm.rmw.entry", config.ait.entry, "nvdimm.ait.entry");
  check_fits(config.media.access, "nvdimm.media.access", config.rmw.entry, "nvdimm.rmw.entry");
  if (config.wear.block == 0 || config.wear.block % config.ait.entry != 0 ||
      config.media.capacity % config.wear.block != 0) {
    throw InputError("model: nvdimm.wear.block is " + std::to_string(config.wear.block) +
                     " B, expected a multiple of nvdimm.ait.entry, " +
                     std::to_string(config.ait.entry) + " B, that divides the capacity");
  }
  const Bytes table = config.media.capacity / config.ait.entry * config.table_entry;
  const Bytes buffer_bytes = config.fill == Fill::none ? 0 : config.ait.entries * config.ait.entry;
  if (table + buffer_bytes > config.dram.capacity()) {
    throw InputError("model: the on-DIMM DRAM holds " + std::to_string(config.dram.capacity()) +
                     " B, expected at least " + std::to_string(table + buffer_bytes) +
                     " B for the table and the buffer; enlarge nvdimm.dram or shrink capacity");
  }
  return config;
}

}  // namespace nearfar::sim::nvdimm
