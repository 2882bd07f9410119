#include "sim/machine/tables.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace nearfar::sim {
namespace {

/// Of the memory that they lie in: entries of 8 bytes for pages of 4 KiB take a 512th of what they
/// map, which may be sixteen times as much.
constexpr Bytes share = 32;

bool is(const Settings& settings, const char* key, const char* value) {
  return settings.has(key) && settings.name(key) == value;
}

/// Where the part of the memory ends that is DRAM, or that DRAM caches; 0 if there is none.
Bytes dram_end(const Settings& settings, Bytes memory) {
  const bool linked = settings.has("link.kind") && !is(settings, "link.kind", "none");
  const bool far_link = is(settings, "link.place", "far");
  if (linked && !far_link) return 0;
  if (is(settings, "near.kind", "cache")) return memory - settings.bytes("near.app_direct");
  return is(settings, "machine", "dram") && !linked ? memory : 0;
}

}  // namespace

cpu::TableConfig tables_of(const Settings& settings, Bytes memory, Bytes near) {
  cpu::TableConfig tables;
  tables.apart = settings.time("cpu.table.latency");
  const std::string& place = settings.name("cpu.table.place");
  Bytes end = 0;
  if (place == "dram") {
    end = near != 0 ? near : dram_end(settings, memory);
  } else if (place == "memory") {
    end = near + memory;
  } else if (place != "apart") {
    throw InputError("cpu.table.place: '" + place +
                     "' is not known, expected dram, memory or apart");
  }
  if (end != 0) {
    tables.size = std::max(end / share / line_bytes * line_bytes, 32 * line_bytes);
    tables.base = Address(end - std::min(end, tables.size));
  }
  return tables;
}

cpu::Config core_of(const Settings& settings, Bytes memory, Bytes near) {
  cpu::Config config = cpu::Config::from(settings);
  config.caches.tables = tables_of(settings, memory, near);
  return config;
}

}  // namespace nearfar::sim
