#include "sim/nvdimm/config.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "base/error.h"
#include "sim/dram/energy.h"

namespace nearfar::sim::nvdimm {
namespace {

Replacement replacement(const std::string& name, const std::string& key) {
  if (name == "fifo") return Replacement::fifo;
  if (name == "lru") return Replacement::lru;
  if (name == "random") return Replacement::random;
  throw InputError("model: " + key + " is '" + name + "', expected fifo, lru or random");
}

Fill fill(const std::string& name, const std::string& key) {
  if (name == "none") return Fill::none;
  if (name == "sector") return Fill::sector;
  if (name == "page") return Fill::page;
  throw InputError("model: " + key + " is '" + name + "', expected none, sector or page");
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
  if (settings.has("nvdimm.media.page_reads")) {
    config.page_reads = static_cast<std::uint32_t>(settings.count("nvdimm.media.page_reads"));
  }
  config.write_interval = settings.time("nvdimm.media.write_interval");
  config.write_partition = settings.time("nvdimm.media.write_partition");
  config.write_queue = static_cast<std::uint32_t>(settings.count("nvdimm.media.write_queue"));
  config.write_high = static_cast<std::uint32_t>(settings.count("nvdimm.media.write_high"));
  config.write_batch = static_cast<std::uint32_t>(settings.count("nvdimm.media.write_batch"));
  config.read_batch = static_cast<std::uint32_t>(settings.count("nvdimm.media.read_batch"));
  config.read_energy_pj = settings.real("nvdimm.media.read_energy");
  config.write_energy_pj = settings.real("nvdimm.media.write_energy");
  return config;
}

PowerConfig power(const Settings& settings) {
  PowerConfig config;
  config.budget_mw = settings.real("nvdimm.power_budget");
  config.window = settings.time("nvdimm.power_window");
  config.idle_mw = settings.real("nvdimm.power_static");
  if (settings.has("nvdimm.energy.line")) config.line_pj = settings.real("nvdimm.energy.line");
  return config;
}

std::string in_milliwatts(double power) {
  return std::to_string(static_cast<std::uint64_t>(std::ceil(power))) + " mW";
}

/// Without currents of the DRAM its power is not counted at all.
void check_power(const Config& config) {
  if (!config.dram.energy) return;
  const double standby = dram::EnergyModel(config.dram).most_standby_mw();
  if (config.power.idle_mw < standby) {
    throw InputError("model: nvdimm.power_static is " + in_milliwatts(config.power.idle_mw) +
                     ", expected at least the standby of the DRAM on the DIMM, " +
                     in_milliwatts(standby));
  }
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

std::string in_bytes(Bytes bytes) { return std::to_string(bytes) + " B"; }

/// Models that were exported before there was such a thing have none.
std::optional<PretranslationConfig> pretranslation(const Settings& settings) {
  const std::string prefix = "nvdimm.pretranslation.";
  if (!settings.has(prefix + "enabled") || !settings.flag(prefix + "enabled")) return std::nullopt;
  PretranslationConfig config;
  config.table = settings.bytes(prefix + "table");
  config.slots = static_cast<std::uint32_t>(settings.count(prefix + "slots"));
  config.policy = replacement(settings.name(prefix + "policy"), prefix + "policy");
  const Bytes rlb = settings.bytes(prefix + "rlb.size");
  config.rlb_entries = static_cast<std::uint32_t>(rlb / PretranslationConfig::entry);
  config.rlb_latency = settings.time(prefix + "rlb.latency");
  // Models that were exported before have none.
  if (settings.has(prefix + "rlb.energy")) config.rlb_pj = settings.real(prefix + "rlb.energy");
  if (config.rlb_entries == 0) {
    throw InputError("model: " + prefix + "rlb.size is " + in_bytes(rlb) +
                     ", which holds no entry; expected at least " +
                     in_bytes(PretranslationConfig::entry));
  }
  if (config.slots == 0 || config.table < config.part()) {
    throw InputError("model: " + prefix + "table is " + in_bytes(config.table) +
                     ", expected room for the " + std::to_string(config.slots) +
                     " entries of one page, " + in_bytes(config.part()));
  }
  return config;
}

void check_size(Bytes size, const std::string& key, Bytes low, Bytes high) {
  if (!std::has_single_bit(size) || size < low || size > high) {
    throw InputError("model: " + key + " is " + in_bytes(size) + ", expected a power of two from " +
                     std::to_string(low) + " to " + in_bytes(high));
  }
}

/// Levels nearer the media have entries at least as large.
void check_grows(const BufferConfig& upper, const BufferConfig& lower, const std::string& level) {
  if (lower.entry < upper.entry) {
    throw InputError("model: " + level + "entry is " + in_bytes(lower.entry) +
                     ", expected at least the " + in_bytes(upper.entry) +
                     " of the level before it");
  }
}

/// The parts of one media block need a place each.
void check_holds_block(const BufferConfig& buffer, const std::string& level, Bytes block) {
  if (buffer.entries * buffer.entry < block) {
    throw InputError("model: " + level + "entries is " + std::to_string(buffer.entries) +
                     ", expected as many as hold nvdimm.media.access, " + in_bytes(block));
  }
}

void read_levels(const Settings& settings, Config& config) {
  // Models that were exported before there was a choice have two.
  const std::uint64_t levels = settings.has("nvdimm.levels") ? settings.count("nvdimm.levels") : 2;
  if (levels < 1 || levels > 3) {
    throw InputError("model: nvdimm.levels is " + std::to_string(levels) + ", expected 1 to 3");
  }
  config.rmw = buffer(settings, "nvdimm.buffer.1.");
  config.rmw_lanes = static_cast<std::uint32_t>(settings.count("nvdimm.buffer.1.lanes"));
  config.rmw_line = settings.time("nvdimm.buffer.1.line");
  if (levels == 3) config.middle = buffer(settings, "nvdimm.buffer.2.");
  if (levels == 1) return;
  const std::string last = "nvdimm.buffer." + std::to_string(levels) + ".";
  config.ait = buffer(settings, last);
  config.fill = fill(settings.name(last + "fill"), last + "fill");
  config.data_latency = settings.time(last + "data_latency");
}

void check_levels(const Config& config) {
  const Bytes block = config.media.access;
  constexpr Bytes largest = Bytes{16} << 20;
  const std::string last = config.middle ? "nvdimm.buffer.3." : "nvdimm.buffer.2.";
  // A block's lines are kept one bit each.
  check_size(block, "nvdimm.media.access", line_bytes, 64 * line_bytes);
  check_size(config.rmw.entry, "nvdimm.buffer.1.entry", line_bytes, largest);
  check_holds_block(config.rmw, "nvdimm.buffer.1.", block);
  if (config.middle) {
    check_size(config.middle->entry, "nvdimm.buffer.2.entry", line_bytes, largest);
    check_grows(config.rmw, *config.middle, "nvdimm.buffer.2.");
    check_holds_block(*config.middle, "nvdimm.buffer.2.", block);
    if (config.middle->entries * config.middle->entry < config.rmw.entries * config.rmw.entry) {
      throw InputError("model: nvdimm.buffer.2.entries is " +
                       std::to_string(config.middle->entries) +
                       ", expected room for all of nvdimm.buffer.1");
    }
  }
  if (config.ait) {
    check_size(config.ait->entry, last + "entry", block, largest);
    check_grows(config.middle ? *config.middle : config.rmw, *config.ait, last);
  }
  // What moves as one is whole entries of every buffer, and whole media blocks.
  Bytes largest_part = std::max(block, config.rmw.entry);
  if (config.ait) largest_part = config.ait->entry;
  if (config.wear.block == 0 || config.wear.block % largest_part != 0 ||
      config.media.capacity % config.wear.block != 0) {
    throw InputError("model: nvdimm.wear.block is " + in_bytes(config.wear.block) +
                     ", expected a multiple of the largest buffer entry or media access, " +
                     in_bytes(largest_part) + ", that divides the capacity");
  }
}

void check_pretranslation(const Config& config) {
  const Bytes free = config.dram.capacity() - std::min(config.dram.capacity(), config.dram_used());
  if (config.pretranslation->table > free) {
    throw InputError("model: nvdimm.pretranslation.table is " +
                     in_bytes(config.pretranslation->table) + ", expected at most the " +
                     in_bytes(free) +
                     " that the indirection table and buffered data leave of the on-DIMM DRAM; "
                     "shrink it or enlarge nvdimm.dram");
  }
}

}  // namespace

Bytes Config::dram_used() const {
  const Bytes table = media.capacity / page() * table_entry;
  const Bytes rounded = (table + page() - 1) / page() * page();
  return rounded + (fill == Fill::none ? 0 : ait->entries * ait->entry);
}

double Config::access_mw() const {
  if (power.budget_mw == 0) return 0;
  double left = power.budget_mw - power.idle_mw;
  if (dram.energy) left -= dram::EnergyModel(dram).refresh_mw();
  if (left <= 0) {
    throw InputError("model: nvdimm.power_budget is " + in_milliwatts(power.budget_mw) +
                     ", expected more than nvdimm.power_static and the refresh of the DRAM on "
                     "the DIMM, " +
                     in_milliwatts(power.budget_mw - left));
  }
  return left;
}

Config config_from(const Settings& settings) {
  Config config;
  config.lsq.lines = static_cast<std::uint32_t>(settings.count("nvdimm.lsq.lines"));
  config.lsq.high = static_cast<std::uint32_t>(settings.count("nvdimm.lsq.high"));
  config.lsq.drain_on_fence = settings.flag("nvdimm.lsq.drain_on_fence");
  config.lsq.hold = settings.time("nvdimm.lsq.hold");
  config.lsq.latency = settings.time("nvdimm.lsq.latency");
  read_levels(settings, config);
  config.table_latency = settings.time("nvdimm.table.latency");
  config.table_entry = settings.bytes("nvdimm.table.entry");
  config.media = media(settings);
  config.power = power(settings);
  config.wear = wear(settings);
  config.dram = dram::config_from(settings, "nvdimm.dram.");
  config.seed = settings.count("seed");

  config.pretranslation = pretranslation(settings);

  check_levels(config);
  config.lazy = lazy_config_from(settings, config);
  check_power(config);
  const Bytes table = config.media.capacity / config.page() * config.table_entry;
  const Bytes kept = config.fill == Fill::none ? 0 : config.ait->entries * config.ait->entry;
  if (table + kept > config.dram.capacity()) {
    throw InputError("model: the on-DIMM DRAM holds " + in_bytes(config.dram.capacity()) +
                     ", expected at least " + in_bytes(table + kept) +
                     " for the table and the buffer; enlarge nvdimm.dram or shrink capacity");
  }
  if (config.pretranslation) check_pretranslation(config);
  return config;
}

}  // namespace nearfar::sim::nvdimm
