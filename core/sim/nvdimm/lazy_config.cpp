#include "sim/nvdimm/lazy_config.h"

#include <bit>
#include <string>

#include "base/error.h"
#include "sim/nvdimm/config.h"

namespace nearfar::sim::nvdimm {
namespace {

std::string key_of(const std::string& name) { return "nvdimm.lazy." + name; }

LazyPriority priority(const std::string& name) {
  if (name == "rate") return LazyPriority::rate;
  if (name == "count") return LazyPriority::count;
  throw InputError("model: " + key_of("priority") + " is '" + name + "', expected rate or count");
}

/// A level of `entry` bytes an entry. At least one entry, and whole ones.
LazyConfig::Level level(const Settings& settings, const std::string& name, Bytes entry) {
  const std::string key = key_of(name + ".size");
  const Bytes size = settings.bytes(key);
  if (size == 0 || size % entry != 0) {
    throw InputError("model: " + key + " is " + std::to_string(size) +
                     " B, expected a multiple of its entries' " + std::to_string(entry) + " B");
  }
  return {.entries = static_cast<std::uint32_t>(size / entry),
          .latency = settings.time(key_of(name + ".latency"))};
}

/// Lines are admitted as blocks move, so some have to.
void check_wear(const WearConfig& wear) {
  const bool counted = wear.writes != 0;
  if (counted && wear.spares != 0) return;
  throw InputError(
      std::string("model: nvdimm.wear.") + (counted ? "spares" : "writes") +
      " is 0, expected 1 or more: nvdimm.lazy admits lines by the records of wear-levelling; or "
      "set nvdimm.lazy.enabled = false");
}

}  // namespace

std::optional<LazyConfig> lazy_config_from(const Settings& settings, const Config& config) {
  // Models that were exported before there was a Lazy cache have none.
  if (!settings.has(key_of("enabled")) || !settings.flag(key_of("enabled"))) return std::nullopt;
  check_wear(config.wear);
  LazyConfig lazy;
  lazy.entry = settings.bytes(key_of("lz2.entry"));
  if (!std::has_single_bit(lazy.entry) || lazy.entry < line_bytes ||
      lazy.entry > config.media.access) {
    throw InputError("model: " + key_of("lz2.entry") + " is " + std::to_string(lazy.entry) +
                     " B, expected a power of two from 64 B to nvdimm.media.access, " +
                     std::to_string(config.media.access) + " B");
  }
  lazy.lz1 = level(settings, "lz1", line_bytes);
  lazy.lz2 = level(settings, "lz2", lazy.entry);
  if (lazy.lz1.entries * line_bytes > lazy.lz2.entries * lazy.entry) {
    throw InputError("model: " + key_of("lz2.size") + " is " +
                     std::to_string(lazy.lz2.entries * lazy.entry) +
                     " B, expected room for all of " + key_of("lz1"));
  }
  lazy.priority = priority(settings.name(key_of("priority")));
  lazy.threshold = settings.real(key_of("threshold"));
  lazy.age = settings.time(key_of("age"));
  lazy.access_pj = settings.real(key_of("energy"));
  return lazy;
}

}  // namespace nearfar::sim::nvdimm
