// Traces from one format to another: what is kept, what is left out and counted, what is refused.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "../fuzz/packed_target.h"
#include "trace/converter.h"
#include "trace/format.h"
#include "trace/packed.h"

namespace nearfar::trace {
namespace test_file {

struct Converted {
  std::string text;  ///< or the error
  std::uint64_t records = 0;
  std::uint64_t left_out = 0;
};

Converted convert(std::string_view bytes, Converter::Options options,
                  std::string_view from = "auto") {
  Converted result;
  try {
    Converter converter(make_reader("t", from), std::move(options));
    converter.feed(bytes, result.text);
    while (converter.has_more()) converter.feed("", result.text);
    converter.finish(result.text);
    result.records = converter.records();
    result.left_out = converter.left_out();
  } catch (const InputError& error) {
    result.text = error.what();
  }
  return result;
}

std::string converted(std::string_view bytes, Converter::Options options) {
  return convert(bytes, std::move(options)).text;
}

std::string packed(const std::vector<Record>& records, const Timing& timing) {
  PackedWriter writer({.timing = timing});
  std::string bytes;
  for (const Record& record : records) writer.put(record, bytes);
  writer.finish(bytes);
  return bytes;
}

TEST(Convert, ATraceGoesThroughOurFormatAndBackUnchanged) {
  const std::string zeros(128, '0');
  const struct {
    std::string text;
    std::string format;
  } traces[] = {
      {"0x40 R\n0x80 W:7\n0xc0 C\n0x1000 R\n", "vans"},
      {"0x40 READ 9\n0x80 WRITE 5\n", "dramsim3"},
      {"LD 0x40\nST 0x1080 256\n", "ramulator"},
      {"7 64 128\n0 192\n", "ramulator-cpu"},
      {"NVMV1\n3 W 0x40 " + zeros + " " + zeros + " 2\n9 R 0x80 " + zeros + " " + zeros + " 0\n",
       "nvmain"},
      {"I  00000000,1\n L ff0,16\n S ff0,16\n", "lackey"}};
  for (const auto& [text, format] : traces) {
    EXPECT_EQ(converted(converted(text, {.to = "nearfar"}), {.to = format}), text) << format;
  }
}

TEST(Convert, EveryFormatCanBeWritten) {
  for (const Format* known : formats()) {
    const std::string_view format = known->name;
    if (!known->is_written()) continue;
    const auto result = convert("LD 0x40\nST 0x80\n", {.to = std::string(format),
                                                       .clock_ps = format == "gem5" ? 1000u : 0u});
    EXPECT_EQ(result.records, 2u) << result.text;
    const auto back = convert(result.text, {.to = "ramulator"}, format);
    EXPECT_EQ(back.text, "LD 0x40\nST 0x80\n") << format;
  }
}

TEST(Convert, DramsysKeepsItsSizesAndTimesThroughOurFormat) {
  const std::string absolute = "31: read 0x40\n40: (128) write 0x80\n";
  EXPECT_EQ(converted(convert(absolute, {.to = "nearfar"}, "dramsys").text, {.to = "dramsys"}),
            absolute);
  EXPECT_EQ(convert(absolute, {.to = "dramsys-relative"}, "dramsys").text,
            "31: read 0x40\n9: (128) write 0x80\n");
}

TEST(Convert, LongGapsAreHandedOutInParts) {
  Converter converter(make_reader("t", "auto"), {.to = "lackey"});
  std::string text;
  for (int i = 0; i < 8; ++i) text += "900000 64\n";
  std::uint64_t parts = 0;
  std::string out;
  for (converter.feed(text, out); converter.has_more(); converter.feed("", out)) {
    ++parts;
    EXPECT_LT(out.size(), 32u << 20U);
    out.clear();
  }
  converter.finish(out);
  EXPECT_GE(parts, 7u);
  EXPECT_EQ(converter.records(), 8u);
}

TEST(Convert, AFormatThatIsOnlyReadIsRefusedAsATarget) {
  EXPECT_EQ(converted("LD 0x40\n", {.to = "memtrace"}),
            "trace format 'memtrace' can be read only; choose another one");
}

TEST(Convert, AConversionTakesAPartOfATrace) {
  const std::string text = "0x0 READ 5\n0x40 READ 10\n0x80 READ 20\n0xc0 READ 40\n";
  EXPECT_EQ(converted(text, {.to = "dramsim3", .window = {.skip = 1, .warm = 0, .run = 2}}),
            "0x40 READ 5\n0x80 READ 15\n");
  const std::string program = "I 0,1\nL 40,1\nI 1,1\nI 2,1\nL 80,1\nI 3,1\nL c0,1\n";
  EXPECT_EQ(converted(program, {.to = "ramulator", .window = {.skip = 1, .warm = 0, .run = 2}}),
            "LD 0x80\n");
  EXPECT_EQ(converted(text, {.to = "vans", .window = {.skip = 9}}),
            "t: found nothing in the part that was asked for, expected a longer trace");
}

TEST(Convert, APartOfATraceOfAWholeMachineIsStillOfIt) {
  Header header{.timing = {.clock_ps = 1000}, .target = "model:t", .memory_bytes = 1 << 29};
  PackedWriter writer(header);
  std::string trace;
  for (int i = 0; i < 3; ++i) writer.put(Record{}, trace);
  writer.finish(trace);
  const std::string part = converted(trace, {.to = "nearfar", .window = {.run = 1}});
  const Header after = parse_header(part.substr(0, part.find('\n')));
  EXPECT_EQ(after.memory_bytes, header.memory_bytes);
  EXPECT_EQ(after.target, header.target);
}

TEST(Convert, RecordsOfOurFormatAloneAreSimplified) {
  const std::string bytes =
      packed({{.address = Address(0x40), .cycles = 1, .size = 64},
              {.cycles = 2, .access = Access::store_fence},
              {.address = Address(0x80), .cycles = 3, .size = 64, .access = Access::nt_write},
              {.cycles = 4, .access = Access::full_fence},
              {.address = Address(0x1000), .cycles = 5, .size = 128, .access = Access::flush}},
             {});
  const auto result = convert(bytes, {.to = "vans"});
  EXPECT_EQ(result.text, "0x40 R:4\n0x80 W:8\n0x1000 W\n0x1040 W\n");
  EXPECT_EQ(result.records, 4u);
  EXPECT_EQ(result.left_out, 2u);
}

TEST(Convert, AProgramsFlushesAreNoWritesOfTheirOwn) {
  const Timing timing{.kind = Kind::program, .counts = Counts::instructions};
  const std::string bytes =
      packed({{.address = Address(0x40), .size = 8, .access = Access::write},
              {.address = Address(0x40), .cycles = 1, .access = Access::flush}},
             timing);
  const auto result = convert(bytes, {.to = "ramulator"});
  EXPECT_EQ(result.text, "ST 0x40 8\n");
  EXPECT_EQ(result.left_out, 1u);
}

TEST(Convert, TimesBecomeThoseOfTheRequestedClock) {
  std::vector<Record> records;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    records.push_back({.address = Address(64 * i), .cycles = 1000 * i, .absolute = true});
  }
  const std::string absolute = packed(records, {.absolute = true, .clock_ps = 1});
  EXPECT_EQ(converted(absolute, {.to = "dramsim3", .clock_ps = 750}),
            "0x40 READ 1\n0x80 READ 2\n0xc0 READ 4\n0x100 READ 5\n");

  for (Record& record : records) record = {.address = record.address, .cycles = 1000};
  const std::string relative = packed(records, {.clock_ps = 1});
  EXPECT_EQ(converted(relative, {.to = "dramsim3", .clock_ps = 750}),
            "0x40 READ 1\n0x80 READ 2\n0xc0 READ 4\n0x100 READ 5\n");
}

TEST(Convert, AClockIsRequiredWhereItIsNeededAndRefusedElsewhere) {
  const std::string known = packed({{.address = Address(64)}}, {.clock_ps = 1});
  EXPECT_EQ(converted(known, {.to = "vans"}),
            "t: found cycles of known length in this trace of nearfar, expected a clock for the "
            "times of vans: --clock 2666MT/s, for example");
  EXPECT_EQ(converted("0x40 R\n", {.to = "gem5"}),
            "t: found no length of a cycle in traces of vans, expected a clock for the times of "
            "gem5: --clock 2666MT/s, for example");
  EXPECT_EQ(converted("0x40 R\n", {.to = "dramsim3", .clock_ps = 750}),
            "t: found a clock of 750 ps, expected none: from vans to dramsim3 no time needs it");
  const auto packets = converted("0x40 READ 9\n", {.to = "gem5", .clock_ps = 750});
  EXPECT_EQ(fuzz::read_in_pieces(packets, 1000, "gem5").records.at(0).cycles, 6750u);
}

TEST(Convert, ARecordThatAFormatCannotSayIsRefusedInOneLine) {
  EXPECT_EQ(converted("0x40 C\n", {.to = "ramulator"}),
            "t: the access of line 1 cannot be written as 'LD|ST|R|W ADDRESS [SIZE]' (ramulator); "
            "choose another format");
  EXPECT_EQ(converted("0x40 READ 1000001\n", {.to = "champsim"}),
            "t: the access of line 1 cannot be written as 'a source or destination of an "
            "instruction' (champsim); choose another format");
  EXPECT_EQ(converted("0x40 R\n", {.to = "elf"}), "trace format 'elf' is not known");
}

}  // namespace test_file
}  // namespace nearfar::trace
