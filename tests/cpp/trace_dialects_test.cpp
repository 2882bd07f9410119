// Text traces that several tools write in their own ways: operations, names, bases, marks.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "trace/parser.h"
#include "trace_text.h"

namespace nearfar::trace {
namespace test_file {

const Format& vans = *find_format("vans");
const Format& dramsys_relative = *find_format("dramsys-relative");

TEST(TraceDialects, OperationsOfDramsim2AreReadsAndWritesByItsRules) {
  const auto records =
      parse("0x40 IFETCH 1\n0x80 P_FETCH 2\n0xc0 P_LOCK_RD 3\n0x100 P_LOCK_WR 4\n0x140 BOFF 5\n");
  ASSERT_EQ(records.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(records[i].access, Access::read) << i;
  EXPECT_EQ(records[4].access, Access::write);
}

TEST(TraceDialects, AByteOrderMarkAtTheStartIsNotOfTheFirstLine) {
  EXPECT_EQ(parse("\xef\xbb\xbf"
                  "LD 0x40\n"),
            parse("LD 0x40\n"));
  EXPECT_EQ(parse("\xef\xbb\xbf# made elsewhere\r\nLD 0x40\r\n").front().line, 2u);
  EXPECT_NE(complaint("LD 0x40\n\xef\xbb\xbfLD 0x80\n"), "") << "elsewhere it is a fault";
}

TEST(TraceDialects, NvmainThreadsAndCyclesAreKeptAndDataAreNot) {
  EXPECT_EQ(parse("NVMV1\n4 W 0x40 00ff 1234 7\n3 R 80 0 2\n"),
            (std::vector<Record>{
                {.address = Address(0x40),
                 .cycles = 4,
                 .line = 2,
                 .thread = 7,
                 .access = Access::write,
                 .absolute = true},
                {.address = Address(0x80), .cycles = 3, .line = 3, .thread = 2, .absolute = true},
            }));
  EXPECT_EQ(complaint("1 R 0x40 0 0\nNVMV1\n"),
            "t:2: found 'NVMV1', expected 'CYCLE R|W ADDRESS DATA [OLD-DATA] THREAD'");
}

TEST(TraceDialects, TheNameTellsWhatDramsysCountsCyclesFrom) {
  const std::string_view text = "31: read 0x40\n2: (128) write 0x80 0xab\n";
  EXPECT_EQ(
      parse(text, nullptr, "a.stl"),
      (std::vector<Record>{{.address = Address(0x40), .cycles = 31, .line = 1, .absolute = true},
                           {.address = Address(0x80),
                            .cycles = 2,
                            .line = 2,
                            .size = 128,
                            .access = Access::write,
                            .absolute = true}}));
  EXPECT_EQ(parse(text, nullptr, "a.rstl.gz"), parse(text, &dramsys_relative));
  EXPECT_FALSE(parse(text, nullptr, "a.rstl").front().absolute);
  EXPECT_EQ(complaint(text),
            "t:1: found '31: read 0x40', expected --format dramsys (.stl) or --format "
            "dramsys-relative (.rstl)");
}

TEST(TraceDialects, DigitsThatAreAnotherAddressInAnotherBaseAreRefused) {
  const std::string tail =
      "expected 0x before an address, or --base 16 or --base 10 to say what its digits are "
      "(--format vans alone means 16)";
  EXPECT_EQ(complaint("42932745\n42932746\n10\n"), "t:1: found '42932745', " + tail);
  EXPECT_EQ(complaint("5\n10 W\n"), "t:2: found '10 W', " + tail) << "5 is the same in both bases";
  EXPECT_EQ(parse("c0\n10\n").back().address, Address(0x10)) << "the first line is hexadecimal";
  EXPECT_EQ(parse("0x40 R\n10\n").back().address, Address(0x10)) << "as VANS reads it";
  EXPECT_EQ(parse("10\n", &vans).front().address, Address(0x10));
}

TEST(TraceDialects, ABaseIsThatOfAddressesWithout0x) {
  const auto first = [](std::string_view text, unsigned base) {
    Parser parser("t", nullptr, base);
    std::vector<Record> records;
    parser.feed(text, records);
    return records.front().address;
  };
  EXPECT_EQ(first("10\n", 10), Address(10));
  EXPECT_EQ(first("10 W\n", 16), Address(0x10));
  EXPECT_EQ(first("LD 10\n", 16), Address(0x10));
  EXPECT_EQ(first("7 10\n", 16), Address(0x10));
  EXPECT_EQ(first("10 READ 3\n", 10), Address(10));
  EXPECT_EQ(first("0x10\n", 10), Address(0x10));
  EXPECT_EQ(first(" L 10,4\n", 10), Address(10));
}

}  // namespace test_file
}  // namespace nearfar::trace
