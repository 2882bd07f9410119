#include "library/statistics.h"

#include <cstdio>

namespace nearfar::library {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (result += '\\') += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// "null" where no time has passed.
std::string bandwidth(std::uint64_t requests, Tick elapsed) {
  if (elapsed == Tick{}) return "null";
  char text[32];
  const double bytes = static_cast<double>(requests * line_bytes);
  std::snprintf(text, sizeof text, "%.17g", bytes / elapsed.ns());
  return text;
}

}  // namespace

std::string statistics(Memory& memory, const Model& model, std::string_view version) {
  const auto [reads, writes] = memory.accepted();
  std::string text =
      "{\"schema\": \"nearfar/replay/1\",\n \"target\": {\"kind\": \"model\", \"name\": ";
  text += quoted(model.name) + ", \"spec\": " + quoted("model:" + model.name);
  text += ", \"mode\": \"simulated\"},\n \"environment\": {\"version\": " + quoted(version);
  text += ", \"seed\": 0, \"model_hash\": " + quoted(model.hash);
  text += "},\n \"trace\": {\"name\": \"host\"},\n \"requests\": " + std::to_string(reads + writes);
  text += ", \"reads\": " + std::to_string(reads) + ", \"writes\": " + std::to_string(writes);
  text += ",\n \"elapsed_ps\": " + std::to_string(memory.elapsed().ps());
  text += ", \"gb_per_s\": " + bandwidth(reads + writes, memory.elapsed());
  text +=
      ",\n \"read_p50_ns\": null, \"read_p99_ns\": null, \"read_p999_ns\": null, "
      "\"read_max_ns\": null, \"late\": null, \"late_max_ns\": null,\n \"counters\": {";
  const char* separator = "";
  for (const auto& reading : memory.read_counters()) {
    text += separator + quoted(reading.name) + ": " + std::to_string(reading.value);
    separator = ",\n  ";
  }
  return text + "}}\n";
}

}  // namespace nearfar::library
