#include "sim/link/config.h"

#include <string>

#include "base/error.h"

namespace nearfar::sim::link {
namespace {

std::uint32_t at_least_one(const Settings& settings, const std::string& key) {
  const std::uint64_t value = settings.count(key);
  if (value == 0) throw InputError(key + " is 0, expected at least 1");
  return static_cast<std::uint32_t>(value);
}

}  // namespace

Config config_from(const Settings& settings) {
  Config config;
  config.request_latency = settings.time("link.request_latency");
  config.response_latency = settings.time("link.response_latency");
  config.slot = settings.time("link.slot");
  config.read_request_slots = at_least_one(settings, "link.slots.read_request");
  config.read_response_slots = at_least_one(settings, "link.slots.read_response");
  config.write_request_slots = at_least_one(settings, "link.slots.write_request");
  config.write_response_slots = at_least_one(settings, "link.slots.write_response");
  config.read_credits = at_least_one(settings, "link.credits.read");
  config.write_credits = at_least_one(settings, "link.credits.write");
  config.write_round_trips = static_cast<std::uint32_t>(settings.count("link.write_round_trips"));
  if (settings.has("link.directory.kept") && settings.name("link.directory.kept") == "memory") {
    config.directory = true;
    config.directory_latency = settings.time("link.directory.latency");
    config.seen = settings.real("link.directory.seen");
    config.seed = settings.count("seed");
  }
  if (settings.has("link.energy.bit")) {
    config.bit_pj = settings.real("link.energy.bit");
    config.idle_share = settings.real("link.energy.idle");
  }
  return config;
}

}  // namespace nearfar::sim::link
