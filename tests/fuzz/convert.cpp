// As text.cpp, for traces of any format that are written in every other: what is written can be
// read, and what cannot be is an InputError.

#include <cstddef>
#include <cstdint>

#include "packed_target.h"
#include "trace/converter.h"

namespace {

using nearfar::fuzz::read_in_pieces;
using nearfar::fuzz::require;
namespace trace = nearfar::trace;

constexpr std::size_t most_read = 1 << 20;

void check_conversion(std::string_view bytes, const trace::Format& to) {
  std::string written;
  try {
    trace::Converter converter(
        trace::make_reader("t", "auto"),
        {.to = std::string(to.name), .clock_ps = to.clock == trace::Clock::always ? 1000u : 0u});
    converter.feed(bytes, written);
    if (converter.has_more()) return;  // many mebibytes of gaps
    converter.finish(written);
    if (written.size() > most_read) return;
  } catch (const nearfar::InputError& error) {
    for (const char* c = error.what(); *c != '\0'; ++c) {
      require(*c >= ' ' && *c <= '~', "printable message", bytes);
    }
    return;
  }
  require(read_in_pieces(written, written.size() + 1, to.name).error.empty(),
          "what is converted can be read", bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const trace::Format* format : trace::formats()) {
    if (format->is_written()) check_conversion(bytes, *format);
  }
  return 0;
}
