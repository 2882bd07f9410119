#include "sim/imc/near_config.h"

#include <string>

#include "base/error.h"

namespace nearfar::sim::imc {
namespace {

constexpr Bytes tag_entry = 8;
constexpr Bytes longest_line = 4096;  // 64 blocks: a word has a bit for each

template <typename Enum>
struct Named {
  const char* name;
  Enum value;
};

template <typename Enum, std::size_t count>
Enum one_of(const Settings& settings, const std::string& key, const Named<Enum> (&known)[count]) {
  const std::string& given = settings.name(key);
  std::string names;
  for (const auto& [name, value] : known) {
    if (given == name) return value;
    names += (names.empty() ? "" : " or ") + std::string(name);
  }
  throw InputError(key + " is '" + given + "', expected " + names);
}

[[noreturn]] void fail(const char* key, const std::string& what) {
  throw InputError(std::string("near.") + key + " " + what);
}

std::uint32_t in_range(const Settings& settings, const char* key, std::uint64_t least,
                       std::uint64_t most) {
  const std::uint64_t value = settings.count(std::string("near.") + key);
  if (value < least || value > most) {
    fail(key, "is " + std::to_string(value) + ", expected " + std::to_string(least) + " to " +
                  std::to_string(most));
  }
  return static_cast<std::uint32_t>(value);
}

}  // namespace

Bytes NearConfig::tag_bytes() const {
  if (tags == NearTags::ecc) return 0;
  const Bytes bytes = capacity / line * tag_entry;
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

NearConfig near_config_from(const Settings& settings) {
  NearConfig config;
  config.capacity = settings.bytes("near.capacity");
  config.line = settings.bytes("near.line");
  config.ways = in_range(settings, "ways", 1, 64);
  config.policy = one_of<NearPolicy>(
      settings, "near.policy",
      {{"lru", NearPolicy::lru}, {"fifo", NearPolicy::fifo}, {"random", NearPolicy::random}});
  config.tags =
      one_of<NearTags>(settings, "near.tags", {{"ecc", NearTags::ecc}, {"data", NearTags::data}});
  config.dirty = one_of<NearDirty>(settings, "near.dirty",
                                   {{"line", NearDirty::line}, {"sector", NearDirty::sector}});
  config.write_back = one_of<bool>(settings, "near.write", {{"back", true}, {"through", false}});
  config.inclusive = settings.flag("near.inclusive");
  config.write_fetch = settings.flag("near.write_fetch");
  config.prefetch_next =
      one_of<bool>(settings, "near.prefetch", {{"none", false}, {"next_line", true}});
  config.app_direct = settings.bytes("near.app_direct");
  config.latency = settings.time("near.latency");
  if (settings.has("near.dram.subchannels")) {
    config.subchannels = in_range(settings, "dram.subchannels", 1, 2);
  }
  config.reads = in_range(settings, "queue.read", 1, 4096);
  config.writes = in_range(settings, "queue.write", 1, 4096);
  config.seed = settings.count("seed");
  return config;
}

void check(const NearConfig& config, Bytes near, Bytes far) {
  const auto bytes = [](Bytes value) { return std::to_string(value) + " B"; };
  if (config.line % line_bytes != 0 || config.line == 0 || config.line > longest_line) {
    fail("line", "is " + bytes(config.line) + ", expected a multiple of 64 B up to 4096 B");
  }
  const Bytes set = config.line * config.ways;
  if (config.capacity == 0 || config.capacity % set != 0) {
    fail("capacity", "is " + bytes(config.capacity) + ", expected whole sets of " + bytes(set));
  }
  if (config.capacity + config.tag_bytes() > near) {
    fail("capacity", "and its tags take " + bytes(config.capacity + config.tag_bytes()) +
                         ", the near DRAM has " + bytes(near));
  }
  if (config.app_direct > far || config.app_direct % config.line != 0) {
    fail("app_direct", "is " + bytes(config.app_direct) +
                           ", expected a multiple of near.line within the far memory of " +
                           bytes(far));
  }
  if ((far - config.app_direct) % config.line != 0) {
    fail("line", "is " + bytes(config.line) + ", which does not divide the far memory");
  }
  if (config.capacity > far - config.app_direct) {
    fail("capacity", "is " + bytes(config.capacity) + ", more than the " +
                         bytes(far - config.app_direct) + " of far memory that it caches");
  }
}

}  // namespace nearfar::sim::imc
