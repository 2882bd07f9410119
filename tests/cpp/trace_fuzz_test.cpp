// The laws of tests/fuzz/trace_target.h on random and mutated traces, the same ones at
// every run.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "../fuzz/trace_target.h"
#include "base/rng.h"
#include "effort.h"

namespace nearfar {
namespace test_file {

constexpr std::string_view seeds[] = {
    "LD 0x1000\nST 4096\nR 0XABC\nW 64\nLD 0x1fc0 128\nST 0x20 2 7 255\n",
    "3 20734016\n8 20841280 20841280\n0 0x40\n",
    "0x1000 READ 10\n2040 WRITE 12\n0xABC read 13\n0x40 P_MEM_RD 15\n0x100 BOFF 18\n",
    "0x240 R\n0x3c0 W\n0x140 C\n00000380\n0x2c0 R:100\n0x200 W 7\n",
    "==7== Lackey\nI  0400,3\n L 1ffe,8\nI  0403,5\n S 2000,16\n M 2040,4\n",
    "# comment\r\n\r\n\t LD 0x40\r\n",
};

/// What a careless editor, a broken pipe or an enemy does to a text.
std::string mutated(std::string text, Rng& rng) {
  constexpr std::string_view alphabet = "0123456789abcdefxXRWCLDST:# \t\r\n-+.,READWRITE\0\xff";
  const auto place = [&] { return static_cast<std::size_t>(rng.below(text.size() + 1)); };
  for (std::uint64_t edits = 1 + rng.below(6); edits > 0; --edits) {
    const char c = alphabet[rng.below(alphabet.size())];
    switch (rng.below(6)) {
      case 0:
        text.insert(place(), 1, c);
        break;
      case 1:
        text.erase(place(), 1 + rng.below(4));
        break;
      case 2:
        text.resize(place());
        break;
      case 3:
        text.insert(place(), 1 + rng.below(30), c);
        break;
      case 4:
        text.insert(place(), seeds[rng.below(std::size(seeds))].substr(0, rng.below(40)));
        break;
      case 5:
        if (!text.empty()) text[rng.below(text.size())] = static_cast<char>(rng.next());
        break;
    }
  }
  return text;
}

TEST(TraceFuzz, MutatedTracesObeyTheLaws) {
  Rng rng(2020);
  for (const std::string_view seed : seeds) {
    for (std::uint64_t i = 0; i < sim::testing::cases(4'000); ++i)
      fuzz::check_trace_parser(mutated(std::string(seed), rng));
  }
}

TEST(TraceFuzz, RandomBytesObeyTheLaws) {
  Rng rng(7);
  for (std::uint64_t i = 0; i < sim::testing::cases(4'000); ++i) {
    std::string text(rng.below(200), '\0');
    for (char& c : text) c = static_cast<char>(rng.next());
    fuzz::check_trace_parser(text);
  }
}

TEST(TraceFuzz, VeryLongLinesObeyTheLaws) {
  for (const char c : {'0', ' ', 'L', '#', '\0'}) {
    for (const std::size_t size : {32'767, 32'768, 32'769, 100'000}) {
      fuzz::check_trace_parser(std::string(size, c));
      fuzz::check_trace_parser("LD 0x40\n" + std::string(size, c) + "\nLD 0x80\n");
    }
  }
}

}  // namespace test_file
}  // namespace nearfar
