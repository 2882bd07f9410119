// As text.cpp, for binary traces.
//
// tests/cpp/trace_packed_test.cpp and trace_foreign_test.cpp check the same laws on a fixed set of
// mutations.

#include <cstddef>
#include <cstdint>

#include "packed_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  nearfar::fuzz::check_reader(bytes, "auto");
  for (const nearfar::trace::Format* format : nearfar::trace::formats()) {
    if (!format->is_text()) nearfar::fuzz::check_reader(bytes, format->name);
  }
  return 0;
}
