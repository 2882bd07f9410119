// Lines as a format's own tools write them are read in runs, eight digits at a time: what they say,
// and what is wrong with them, is what the reading of single lines finds.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "trace/digits.h"
#include "trace_text.h"

namespace nearfar::trace {
namespace test_file {

const Format& dramsim3 = *find_format("dramsim3");

/// The format as it is without runs.
const Format& line_by_line() {
  static const Format format = [] {
    Format plain = dramsim3;
    plain.read_plain = nullptr;
    return plain;
  }();
  return format;
}

std::string number(Rng& rng, std::string_view digits, std::uint64_t most) {
  std::string text;
  for (std::uint64_t left = 1 + rng.below(most); left > 0; --left) {
    text += digits[rng.below(digits.size())];
  }
  return text;
}

/// Mostly plain; now and then with something else that may be read, or may not.
std::string line(Rng& rng, bool spoilt) {
  std::string text = "0x" + number(rng, "0123456789abcdefABCDEF", 16) +
                     (rng.below(2) == 0 ? " READ " : " WRITE ") + number(rng, "0123456789", 19);
  if (spoilt) {
    constexpr std::string_view odd = " \t\rxg@`G/:;0aF_\x80\xff";
    text.insert(rng.below(text.size() + 1), 1, odd[rng.below(odd.size())]);
  }
  return text + '\n';
}

TEST(PlainLines, ARunOfThemSaysWhatTheLinesSay) {
  Rng rng(1);
  std::string text;
  for (int i = 0; i < 5000; ++i) text += line(rng, false);
  const std::vector<Record> expected = parse(text, &line_by_line());
  EXPECT_EQ(parse(text, &dramsim3), expected);
  EXPECT_EQ(parse(text), expected);
  Parser cut("t", &dramsim3);
  std::vector<Record> records;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = rng.below(300);
    cut.feed(std::string_view(text).substr(at, size), records);
    at += size;
  }
  cut.finish(records);
  EXPECT_EQ(records, expected);
}

TEST(PlainLines, AnOddLineAmongThemIsReadOrRefusedAsItIsByItself) {
  Rng rng(2);
  int refused = 0;
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text =
        line(rng, false) + line(rng, true) + line(rng, false) + line(rng, false) + line(rng, false);
    const std::string expected = complaint(text, &line_by_line());
    EXPECT_EQ(complaint(text, &dramsim3), expected) << text;
    if (expected.empty()) {
      ++read;
      EXPECT_EQ(parse(text, &dramsim3), parse(text, &line_by_line())) << text;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(read, 100);
}

TEST(PlainLines, DigitsAreReadUpToTheFirstOtherByteAndNoFurtherThanSixteen) {
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::string decimal = number(rng, "0123456789", 16);
    const std::string hexadecimal = number(rng, "0123456789abcdefABCDEF", 16);
    const std::string rest =
        (rng.below(2) == 0 ? "\n" : " ") + std::string(24, static_cast<char>(rng.below(256)));
    const std::string of_ten = decimal + rest;
    const char* at = of_ten.data();
    EXPECT_EQ(read_digits<10>(at), std::stoull(decimal)) << of_ten;
    EXPECT_EQ(at, of_ten.data() + decimal.size()) << of_ten;
    const std::string of_sixteen = hexadecimal + rest;
    at = of_sixteen.data();
    EXPECT_EQ(read_digits<16>(at), std::stoull(hexadecimal, nullptr, 16)) << of_sixteen;
    EXPECT_EQ(at, of_sixteen.data() + hexadecimal.size()) << of_sixteen;
  }
  const std::string many(17, '1');
  const std::string text = many + std::string(24, ' ');
  const char* at = text.data();
  EXPECT_FALSE(read_digits<10>(at));
  at = text.data();
  EXPECT_FALSE(read_digits<16>(at));
  at = text.data() + many.size();
  EXPECT_FALSE(read_digits<10>(at)) << "there is none";
}

}  // namespace test_file
}  // namespace nearfar::trace
