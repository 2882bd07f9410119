// As trace_fuzzer.cpp, for binary traces: build it with this file in place of that one.
//
// tests/cpp/trace_packed_test.cpp and trace_foreign_test.cpp check the same laws on a fixed set of
// mutations.

#include <cstddef>
#include <cstdint>

#include "packed_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* format : {"auto", "nearfar", "gem5", "champsim"}) {
    nearfar::fuzz::check_reader(bytes, format);
  }
  return 0;
}
