// Entry point for libFuzzer and whatever speaks its interface:
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Icore
//         tests/fuzz/trace_fuzzer.cpp core/trace/*.cpp -o trace_fuzzer
//     ./trace_fuzzer -max_len=4096
//
// tests/cpp/trace_fuzz_test.cpp checks the same laws on a fixed set of mutations.

#include <cstddef>
#include <cstdint>

#include "trace_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nearfar::fuzz::check_trace_parser({reinterpret_cast<const char*>(data), size});
  return 0;
}
