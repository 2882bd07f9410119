// The text trace formats: what each line means, what a bad one is told, and that neither
// depends on how the text is cut.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "trace/parser.h"
#include "trace/writer.h"
#include "trace_text.h"

namespace nearfar::trace {
namespace test_file {

const Format& ramulator = *find_format("ramulator");
const Format& ramulator_cpu = *find_format("ramulator-cpu");
const Format& dramsim3 = *find_format("dramsim3");
const Format& vans = *find_format("vans");
const Format& lackey = *find_format("lackey");
const Format& nvmain = *find_format("nvmain");
const Format& dramsys = *find_format("dramsys");
const Format& dramsys_relative = *find_format("dramsys-relative");

/// Under a name that tells formats of the same lines apart.
std::string name_for(const Format* format) {
  return format == nullptr ? "t" : "t" + std::string(format->ending);
}

std::string write_all(const Format& format, const std::vector<Record>& records) {
  TextWriter writer(format);
  std::string text;
  for (const Record& record : records) writer.put(record, text);
  writer.finish(text);
  return text;
}

struct Sample {
  const Format* format;
  std::string_view text;
};

/// Every kind of line of every format.
const Sample samples[] = {
    {&ramulator, "LD 0x1000\nST 4096\nR 0XABC\nW 64\nLD 0x1fc0 128\nST 0x20 2 7 255\nST 0x0 8\n"},
    {&ramulator_cpu, "3 20734016\n8 20841280 20841280\n0 0x40\n"},
    {&dramsim3,
     "0x1000 READ 10\n2040 WRITE 12\n0xABC read 13\n0x0 write 14\n0x40 P_MEM_RD 15\n"
     "0x80 P_FETCH 16\n0xc0 P_MEM_WR 17\n0x100 BOFF 18\n0x140 IFETCH 19\n0x180 P_LOCK_RD 20\n"
     "0x1c0 P_LOCK_WR 21\n"},
    {&vans, "0x240 R\n0x3c0 W\n0x140 C\n00000380\n0x2c0 R:100\n0x200 W 7\n0x280 C:0\n"},
    {&lackey, "==7== Lackey\nI  0400,3\n L 1ffe,8\nI  0403,5\n S 2000,16\nI  0408,2\n M 2040,4\n"},
    {&nvmain, "NVMV1\n4 R 0x40 00ff 0 0\n5 W 80 0 0x1 3\n9 W 0xC0 FF 7\n"},
    {&dramsys,
     "31:\tread\t0x400140\n33: read 400160\n56: write 0x7fff8000 0x12345678\n"
     "81: (128) read 0x400180\n"},
    {&dramsys_relative, "31: read 0x400140\n2: (512) read 0x400160\n23: write 0x7fff8000 0xab\n"},
};

TEST(Trace, RamulatorLoadsAndStoresEnterOneACycle) {
  EXPECT_EQ(parse("LD 0x1000\nST 128\nW 0x40\n"),
            (std::vector<Record>{
                {.address = Address(0x1000), .cycles = 0, .line = 1},
                {.address = Address(128), .cycles = 1, .line = 2, .access = Access::write},
                {.address = Address(0x40), .cycles = 1, .line = 3, .access = Access::write},
            }));
}

TEST(Trace, RamulatorSizesAreKeptAndStoredBytesAreNot) {
  EXPECT_EQ(
      parse("LD 0x1000 256\nST 0x40 3 1 2 255\n"),
      (std::vector<Record>{
          {.address = Address(0x1000), .cycles = 0, .line = 1, .size = 256},
          {.address = Address(0x40), .cycles = 1, .line = 2, .size = 3, .access = Access::write},
      }));
}

TEST(Trace, RamulatorCpuBubblesComeBeforeTheReadAndTheWriteBackAfterIt) {
  EXPECT_EQ(parse("3 64\n0 128 192\n5 256\n"),
            (std::vector<Record>{
                {.address = Address(64), .cycles = 3, .line = 1},
                {.address = Address(128), .cycles = 1, .line = 2},
                {.address = Address(192), .cycles = 1, .line = 2, .access = Access::write},
                {.address = Address(256), .cycles = 6, .line = 3},
            }));
}

TEST(Trace, Dramsim3CyclesCountFromTheStart) {
  EXPECT_EQ(parse("0x1000 READ 10\n40 WRITE 9\n"),
            (std::vector<Record>{
                {.address = Address(0x1000), .cycles = 10, .line = 1, .absolute = true},
                {.address = Address(0x40),
                 .cycles = 9,
                 .line = 2,
                 .access = Access::write,
                 .absolute = true},
            }));
}

TEST(Trace, VansIdleCyclesDelayTheNextAccessAndCriticalReadsBlock) {
  EXPECT_EQ(parse("0x40 R:10\n0x80 C\nc0\n0x100 W\n"),
            (std::vector<Record>{
                {.address = Address(0x40), .cycles = 0, .line = 1},
                {.address = Address(0x80), .cycles = 11, .line = 2, .blocks = true},
                {.address = Address(0xc0), .cycles = 1, .line = 3},
                {.address = Address(0x100), .cycles = 1, .line = 4, .access = Access::write},
            }));
}

TEST(Trace, BlankLinesAndCommentsAreSkippedAndCounted) {
  const auto records = parse("# made by hand\r\n\r\n \t\n  LD 0x40  \r\n# end\nST\t0x80");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].line, 4u);
  EXPECT_EQ(records[1].line, 6u);
}

TEST(Trace, EveryFormatIsKnownByItsFirstLine) {
  ASSERT_EQ(std::size(samples), text_formats().size()) << "every format needs a sample above";
  for (const Sample& sample : samples) {
    Parser parser(name_for(sample.format));
    std::vector<Record> records;
    parser.feed(sample.text, records);
    EXPECT_EQ(parser.format(), sample.format) << sample.format->name;
  }
}

TEST(Trace, NoLineIsValidInTwoFormatsThatTheNameDoesNotTellApart) {
  for (const Sample& sample : samples) {
    std::string_view rest = sample.text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      for (const Format* format : text_formats()) {
        // An instruction of lackey's is a good line, and no access.
        const bool refused = complaint(line, format).starts_with("t:1: ");
        if (format->syntax == sample.format->syntax) continue;  // the file's name tells them apart
        EXPECT_EQ(!refused, format == sample.format) << line << " as " << format->name;
      }
    }
  }
}

TEST(Trace, LackeysInstructionsAreCountedAndItsAccessesFollowThem) {
  EXPECT_EQ(
      parse("==7== Lackey\nI  0400,3\nI  0403,5\n L 1ffe,8\n S 2000,16\nI  0408,2\n M 2040,4\n"),
      (std::vector<Record>{
          {.address = Address(0x1ffe), .cycles = 2, .line = 4, .size = 8},
          {.address = Address(0x2000), .line = 5, .size = 16, .access = Access::write},
          {.address = Address(0x2040), .cycles = 1, .line = 7, .size = 4},
          {.address = Address(0x2040), .line = 7, .size = 4, .access = Access::write},
      }));
  Parser parser("t");
  std::vector<Record> records;
  parser.feed(" L 40,8\n", records);
  EXPECT_EQ(parser.timing(), (Timing{.kind = Kind::program, .counts = Counts::instructions}));
}

TEST(Trace, FormatsAreFoundByName) {
  for (const Format* format : text_formats()) EXPECT_EQ(find_format(format->name), format);
  EXPECT_EQ(find_format("ramulator3"), nullptr);
}

TEST(Trace, ATraceReadsTheSameHoweverItIsCutInTwo) {
  for (const Sample& sample : samples) {
    const auto whole = parse(sample.text, sample.format);
    for (std::size_t cut = 0; cut <= sample.text.size(); ++cut) {
      Parser parser(name_for(sample.format));
      std::vector<Record> records;
      parser.feed(sample.text.substr(0, cut), records);
      parser.feed(sample.text.substr(cut), records);
      parser.finish(records);
      EXPECT_EQ(records, whole) << sample.format->name << " cut at " << cut;
    }
  }
}

TEST(Trace, ATraceReadsTheSameByteByByte) {
  for (const Sample& sample : samples) {
    Parser parser(name_for(sample.format));
    std::vector<Record> records;
    for (const char& c : sample.text) parser.feed({&c, 1}, records);
    parser.finish(records);
    EXPECT_EQ(records, parse(sample.text, sample.format)) << sample.format->name;
  }
}

/// Accesses as a trace of that format can hold them.
std::vector<Record> random_records(const Format& format, Rng& rng) {
  std::vector<Record> records;
  std::uint64_t cycle = 0;
  std::uint64_t instructions = 0;
  for (std::uint64_t line = 1; line <= 200; ++line) {
    Record record{.address = Address(rng.next() >> rng.below(64)), .line = line};
    record.access = rng.below(2) == 0 ? Access::read : Access::write;
    record.cycles = line == 1 ? 0 : 1;
    if (&format == &ramulator) record.size = static_cast<std::uint32_t>(1 + rng.below(4096));
    if (&format == &dramsim3) {
      record.absolute = true;
      record.cycles = cycle += rng.below(100);
    }
    if (&format == &nvmain || &format == &dramsys) {
      record.absolute = true;
      record.cycles = cycle += rng.below(100);
      if (&format == &dramsys) record.size = static_cast<std::uint32_t>(1 + rng.below(4096));
    }
    if (&format == &nvmain) {
      record.thread = static_cast<std::uint16_t>(rng.below(65536));
      ++record.line;  // behind the version
    }
    if (&format == &dramsys_relative) {
      record.size = static_cast<std::uint32_t>(1 + rng.below(4096));
      record.cycles = rng.below(100);
    }
    if (&format == &vans) {
      record.cycles = line == 1 ? 0 : 1 + rng.below(3);
      record.blocks = record.access == Access::read && rng.below(4) == 0;
    }
    if (&format == &lackey) {
      record.size = static_cast<std::uint32_t>(1 + rng.below(4096));
      record.cycles = rng.below(4);
      record.line = instructions += record.cycles;
      record.line += line;  // one for each access, too
    }
    if (&format == &ramulator_cpu) {
      record.access = Access::read;
      record.cycles += rng.below(9);
    }
    records.push_back(record);
    if (&format == &ramulator_cpu && rng.below(2) == 0) {
      record.access = Access::write;
      record.cycles = 1;
      records.push_back(record);
    }
  }
  return records;
}

TEST(Trace, AWrittenTraceReadsBackTheSame) {
  for (const Format* format : text_formats()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Rng rng(seed);
      const auto records = random_records(*format, rng);
      EXPECT_EQ(parse(write_all(*format, records), nullptr, name_for(format)), records)
          << format->name << ", seed " << seed;
    }
  }
}

TEST(Trace, SampleTextsSurviveReadingAndWriting) {
  for (const Sample& sample : samples) {
    const auto records = parse(sample.text, sample.format);
    auto again = parse(write_all(*sample.format, records), sample.format);
    ASSERT_EQ(again.size(), records.size());
    for (std::size_t i = 0; i < again.size(); ++i) again[i].line = records[i].line;  // of comments
    EXPECT_EQ(again, records) << sample.format->name;
  }
}

TEST(Trace, TimesAreKeptFromOneFormatToAnother) {
  const auto records = parse("0x40 R:10\n0x80 W\n0xc0 R\n");
  EXPECT_EQ(write_all(dramsim3, records), "0x40 READ 0\n0x80 WRITE 11\n0xc0 READ 12\n");
  EXPECT_EQ(write_all(vans, parse("0x40 READ 5\n0x80 WRITE 16\n0xc0 READ 17\n")),
            "0x40 R:10\n0x80 W\n0xc0 R\n");
  EXPECT_EQ(write_all(ramulator_cpu, parse("0x40 READ 2\n0x80 WRITE 3\n0xc0 READ 7\n")),
            "2 64 128\n3 192\n");
  EXPECT_EQ(write_all(vans, parse("0x40 READ 9\n0x80 READ 5\n0xc0 READ 7\n")),
            "0x40 R\n0x80 R:1\n0xc0 R\n")
      << "a cycle that goes back is no wait";
}

TEST(Trace, ARecordThatAFormatCannotSayIsRefusedByName) {
  const auto message = [](const Format& format, std::string_view text) -> std::string {
    try {
      static_cast<void>(write_all(format, parse(text)));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(ramulator, "0x40 R\n0x80 C\n"),
            "the access of line 2 cannot be written as 'LD|ST|R|W ADDRESS [SIZE]' (ramulator); "
            "choose another format");
  EXPECT_EQ(message(ramulator_cpu, "ST 0x40\n"),
            "the access of line 1 cannot be written as 'BUBBLES READ-ADDRESS [WRITE-ADDRESS]' "
            "(ramulator-cpu); choose another format");
  EXPECT_NE(message(ramulator_cpu, "LD 0x40\nST 0x80\nST 0xc0\n"), "");
  EXPECT_NE(message(ramulator_cpu, "0x40 READ 0\n0x80 WRITE 9\n"), "");
  EXPECT_NE(message(dramsim3, "LD 0x40 64\n"), "");
  EXPECT_NE(message(vans, "LD 0x40 64\n"), "");
}

TEST(Trace, ABadLineIsReportedByNumberTextAndExpectedForm) {
  EXPECT_EQ(complaint("LD 0x40\nLD 0xZZ\n"),
            "t:2: found 'LD 0xZZ', expected 'LD|ST|R|W ADDRESS [SIZE]'");
  EXPECT_EQ(complaint("3 64\n-1 64\n"),
            "t:2: found '-1 64', expected 'BUBBLES READ-ADDRESS [WRITE-ADDRESS]'");
  EXPECT_EQ(complaint("0x40 READ 1\n\n# note\n0x80 READD 2\n"),
            "t:4: found '0x80 READD 2', expected 'ADDRESS READ|WRITE CYCLE'");
  EXPECT_EQ(complaint("0x40 R\n0x80 X\n"),
            "t:2: found '0x80 X', expected 'ADDRESS [R|W|C][:IDLE]'");
}

TEST(Trace, AnUnknownFirstLineListsEveryFormat) {
  EXPECT_EQ(complaint("hello\n"),
            "t:1: found 'hello', expected 'LD|ST|R|W ADDRESS [SIZE]' (ramulator), "
            "'BUBBLES READ-ADDRESS [WRITE-ADDRESS]' (ramulator-cpu), "
            "'ADDRESS READ|WRITE CYCLE' (dramsim3), 'ADDRESS [R|W|C][:IDLE]' (vans), "
            "'I|L|S|M ADDRESS,SIZE' (lackey), "
            "'CYCLE R|W ADDRESS DATA [OLD-DATA] THREAD' (nvmain), "
            "'CYCLE: [(BYTES)] read|write ADDRESS [DATA]' (dramsys), "
            "'CYCLE: [(BYTES)] read|write ADDRESS [DATA]' (dramsys-relative)");
}

TEST(Trace, AGivenFormatIsNotGuessed) {
  EXPECT_EQ(complaint("LD 0x40\n", &vans),
            "t:1: found 'LD 0x40', expected 'ADDRESS [R|W|C][:IDLE]'");
}

TEST(Trace, EveryWayALineCanBeWrongIsFound) {
  const struct {
    const Format* format;
    std::vector<std::string_view> lines;
  } wrong[] = {
      {&ramulator,
       {"LD", "LD 0x", "LD 0x40 0", "LD 0x40 4097", "LD 0x40 8 1", "LD 0x40 1 7", "LD 0x 64",
        "ST 0x40 2 1", "ST 0x40 1 256", "ST 0x40 1 1 1", "ld 0x40", "LDX 0x40", "LD 40h", "LD +64",
        "R 0,0,1,2", "LD 0x10000000000000000", "LD 18446744073709551616"}},
      {&ramulator_cpu,
       {"1", "x 64", "1 64 128 192", "1 64 z", "1.5 64", "18446744073709551615 64", "1 -64"}},
      {&dramsim3,
       {"0x40", "0x40 READ", "0x40 P_INT_ACK 1", "0x40 LOCK_RD 1", "0x40 READ x", "0x40 READ 1 2",
        "zz READ 1", "0x40 FETCH 1", "0x40 READ -1", "0x40 READ 0x10", "0x READ 1"}},
      {&lackey,
       {"I 0400", "L 40,", "L ,8", "L 0x40,8", "L 40,0", "L 40,4097", "L 40,8 9", "X 40,8",
        "LL 40,8", "L 40 ,8", "L 40,x", "L zz,8", "=x"}},
      {&nvmain,
       {"1 R 0x40", "1 R 0x40 00", "1 R 0x40 zz 0", "1 R 0x40 0 zz 0", "1 R 0x40 0 0 0 0",
        "1 X 0x40 0 0", "1 R 40h 0 0", "x R 0x40 0 0", "1 R 0x40 0 65536", "NVMV2",
        "1 R 0x40 0x 0"}},
      {&dramsys,
       {"1 read 0x40", "1: READ 0x40", "1: read", "1: (0) read 0x40", "1: (4097) read 0x40",
        "1: (8 read 0x40", "x: read 0x40", "1: read 0x40 00", "1: write 0x40 zz",
        "1: write 0x40 00 00", "1: (8)", ": read 0x40"}},
      {&vans,
       {"0x40 RR", "0x40 R:", "0x40 R:x", "0x40 R:1 2", "0x40 R 1 2", "0x40 :1", "xyz R",
        "0x40 R:18446744073709551615", "0x40 R :1", "0x40 READ", "0x R"}},
  };
  for (const auto& [format, lines] : wrong) {
    for (const std::string_view line : lines) {
      EXPECT_EQ(complaint(line, format), "t:1: found '" + std::string(line) + "', expected '" +
                                             std::string(format->syntax) + "'");
    }
  }
}

TEST(Trace, MessagesStayOneReadableLine) {
  using namespace std::string_view_literals;
  EXPECT_EQ(complaint("0x40 R\n\x01\xff\0\x1b[2J\n"sv),
            "t:2: found '\\x01\\xff\\x00\\x1b[2J', expected 'ADDRESS [R|W|C][:IDLE]'");
  EXPECT_EQ(complaint("0x40 R\n" + std::string(100, 'z') + "\n"),
            "t:2: found '" + std::string(60, 'z') + "'..., expected 'ADDRESS [R|W|C][:IDLE]'");
}

TEST(Trace, CompressedDataAreReportedAsCompressed) {
  EXPECT_EQ(complaint("\x28\xb5\x2f\xfd$A\n"),
            "t:1: found '(\\xb5/\\xfd$A', expected text, not compressed data");
}

TEST(Trace, ALineWithoutEndIsRefusedBeforeItFillsMemory) {
  Parser parser("t");
  std::vector<Record> records;
  parser.feed("LD 0x40\n", records);
  const std::string piece(1024, '7');
  try {
    for (int i = 0; i < 33; ++i) parser.feed(piece, records);
    FAIL() << "32 KiB and more were taken for a line";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), "t:2: found '" + std::string(60, '7') +
                                             "'..., expected a line of at most 32768 bytes");
  }
}

TEST(Trace, ATraceWithoutAnyAccessIsAnError) {
  const std::string tail =
      ": found no access in it, expected 'LD|ST|R|W ADDRESS [SIZE]' (ramulator), "
      "'BUBBLES READ-ADDRESS [WRITE-ADDRESS]' (ramulator-cpu), "
      "'ADDRESS READ|WRITE CYCLE' (dramsim3), 'ADDRESS [R|W|C][:IDLE]' (vans), "
      "'I|L|S|M ADDRESS,SIZE' (lackey), "
      "'CYCLE R|W ADDRESS DATA [OLD-DATA] THREAD' (nvmain), "
      "'CYCLE: [(BYTES)] read|write ADDRESS [DATA]' (dramsys), "
      "'CYCLE: [(BYTES)] read|write ADDRESS [DATA]' (dramsys-relative)";
  EXPECT_EQ(complaint(""), "t" + tail);
  EXPECT_EQ(complaint("# only\n# comments\n\n"), "t" + tail);
  EXPECT_EQ(complaint("", &vans), "t: found no access in it, expected 'ADDRESS [R|W|C][:IDLE]'");
}

}  // namespace test_file
}  // namespace nearfar::trace
