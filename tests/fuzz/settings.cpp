// As text.cpp, for resolved models, as `nearfar model export` writes them and a machine is built
// of: the worst that comes of one is an InputError with a printable one-line message.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/settings.h"
#include "trace_target.h"

namespace {

/// Whatever is read of them is a value, or refused in one line.
template <typename Read>
void check(std::string_view text, Read read) {
  try {
    read();
  } catch (const nearfar::InputError& error) {
    const std::string_view message = error.what();
    nearfar::fuzz::require(message.find('\n') == std::string_view::npos, "message of one line",
                           text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, [&] {
    const auto settings = nearfar::Settings::parse(text);
    for (const char* key : {"seed", "channels", "machine", "dram.clock", "near.kind"}) {
      check(text, [&] { static_cast<void>(settings.count(key)); });
      check(text, [&] { static_cast<void>(settings.time(key)); });
      check(text, [&] { static_cast<void>(settings.real(key)); });
      check(text, [&] { static_cast<void>(settings.flag(key)); });
      check(text, [&] { static_cast<void>(settings.name(key)); });
    }
  });
  return 0;
}
