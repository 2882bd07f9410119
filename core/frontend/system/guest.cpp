#include "frontend/system/guest.h"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/tick.h"
#include "frontend/system/region.h"

namespace nearfar::frontend::system {
namespace {

std::string read_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw InputError(path + ": cannot be read");
  return std::move(text).str();
}

sim::cpu::CacheConfig cache(const Settings& settings, const std::string& name) {
  return {.size = settings.bytes(name + ".size"),
          .ways = static_cast<std::uint32_t>(settings.count(name + ".ways"))};
}

trace::Header header(const Settings& settings) {
  return {.command = settings.name("command"),
          .creator = settings.name("creator"),
          .memory_bytes = settings.bytes("memory")};
}

}  // namespace

Guest::Guest(const std::string& folder, std::size_t processors)
    : Guest(folder, Settings::parse(read_file(folder + "/options")), processors) {}

Guest::Guest(const std::string& folder, const Settings& settings, std::size_t processors)
    : socket_(settings.name("trace"), 1),
      memory_(settings.bytes("memory")),
      recorder_(
          Gaps::instructions, settings.time("period"), header(settings),
          [this](std::string_view piece, std::uint64_t records) { socket_.send(piece, records); }),
      filter_(cache(settings, "first"), cache(settings, "last"), processors,
              [this](std::uint16_t processor, sim::cpu::Line line, bool write) {
                reached(processor, line, write);
              }),
      executed_(processors),
      recording_(settings.name("include") == "boot") {
  if (!recording_) region_ = watched_region(folder);
}

void Guest::end() { recorder_.flush(); }

void Guest::reached(std::uint16_t processor, sim::cpu::Line line, bool write) {
  recorder_.add(processor, write ? trace::Access::write : trace::Access::read,
                Address(line * line_bytes), Tick{}, executed_[processor]);
}

}  // namespace nearfar::frontend::system
