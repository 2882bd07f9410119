// Traces of text, of every format and of one told by its lines. driver.cpp runs it, or libFuzzer:
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Icore
//         tests/fuzz/text.cpp core/trace/*.cpp -o text && ./text tests/fuzz/corpus/text
//
// tests/cpp/trace_fuzz_test.cpp checks the same laws on a fixed set of mutations.

#include <cstddef>
#include <cstdint>

#include "trace_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nearfar::fuzz::check_trace_parser({reinterpret_cast<const char*>(data), size});
  return 0;
}
