// As text.cpp, for resolved models, as `nearfar model export` writes them and a machine is built of:
// the worst that comes of one is an InputError with a printable one-line message.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/settings.h"
#include "trace_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto settings = nearfar::Settings::parse(text);
    for (const char* key : {"seed", "channels", "machine", "dram.clock", "near.kind"}) {
      if (!settings.has(key)) continue;
      for (const auto read : {+[](const nearfar::Settings& s, const char* k) { s.count(k); },
                              +[](const nearfar::Settings& s, const char* k) { s.time(k); },
                              +[](const nearfar::Settings& s, const char* k) { s.real(k); },
                              +[](const nearfar::Settings& s, const char* k) { s.flag(k); },
                              +[](const nearfar::Settings& s, const char* k) { s.name(k); }}) {
        try {
          read(settings, key);
        } catch (const nearfar::InputError& error) {
          nearfar::fuzz::require(std::string_view(error.what()).find('\n') == std::string_view::npos,
                                 "message of one line", text);
        }
      }
    }
  } catch (const nearfar::InputError& error) {
    nearfar::fuzz::require(std::string_view(error.what()).find('\n') == std::string_view::npos,
                           "message of one line", text);
  }
  return 0;
}
