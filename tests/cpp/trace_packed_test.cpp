// nearfar's own trace format: what is written reads back the same however it is cut, and whatever
// is missing or foreign is told.

#include "effort.h"
#include "trace/packed.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "../fuzz/packed_target.h"
#include "base/error.h"
#include "base/rng.h"

namespace nearfar::trace {
namespace test_file {

std::string packed(const std::vector<Record>& records, const Header& header = {}) {
  PackedWriter writer(header);
  std::string bytes;
  for (const Record& record : records) writer.put(record, bytes);
  writer.finish(bytes);
  return bytes;
}

std::vector<Record> unpacked(std::string_view bytes) {
  const auto outcome = fuzz::read_in_pieces(bytes, bytes.size() + 1, "nearfar");
  EXPECT_EQ(outcome.error, "");
  return outcome.records;
}

std::string complaint(std::string_view bytes) {
  return fuzz::read_in_pieces(bytes, bytes.size() + 1, "nearfar").error;
}

std::vector<Record> random_records(std::uint64_t seed, bool absolute) {
  Rng rng(seed);
  std::vector<Record> records;
  std::uint64_t cycle = 0;
  for (std::uint64_t line = 1; line <= 300; ++line) {
    Record record{.line = line, .absolute = absolute};
    record.access = static_cast<Access>(rng.below(access_kinds));
    record.thread = static_cast<std::uint16_t>(rng.below(4) == 0 ? rng.below(65'536) : 7);
    record.cycles = rng.below(2) == 0 ? rng.below(20) : rng.next() >> rng.below(64);
    if (absolute) record.cycles = cycle = rng.below(4) == 0 ? record.cycles : cycle + rng.below(40);
    if (!is_fence(record.access)) {
      record.address = Address(rng.next() >> rng.below(64));
      record.size = static_cast<std::uint32_t>(1 + rng.below(max_access_bytes));
      record.blocks = record.access == Access::read && rng.below(3) == 0;
      if (rng.below(2) == 0) {
        record.address = record.address.aligned_down(line_bytes);
        record.size = line_bytes;
      }
    }
    records.push_back(record);
  }
  return records;
}

TEST(PackedTrace, AWrittenTraceReadsBackTheSame) {
  for (const bool absolute : {false, true}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto records = random_records(seed, absolute);
      const auto bytes = packed(records, {.timing = {.absolute = absolute, .clock_ps = 5}});
      EXPECT_EQ(unpacked(bytes), records) << "seed " << seed;
    }
  }
}

TEST(PackedTrace, APackedTraceReadsTheSameHoweverItIsCut) {
  const auto records = random_records(3, false);
  const auto bytes = packed(records);
  for (const std::size_t piece : {1, 2, 7, 31, 32, 100, 1000}) {
    EXPECT_EQ(fuzz::read_in_pieces(bytes, piece, "nearfar").records, records) << piece;
    EXPECT_EQ(fuzz::read_in_pieces(bytes, piece, "auto").records, records) << piece;
  }
}

TEST(PackedTrace, AWholeLineNearTheLastOneTakesTwoBytes) {
  std::vector<Record> records(100, {.cycles = 9, .size = line_bytes});
  const auto header = header_line({});
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    records[i].address = Address(i * line_bytes);
    records[i].line = i + 1;
  }
  EXPECT_EQ(packed(records).size(), header.size() + 2 * records.size() + 2);
}

TEST(PackedTrace, TheHeaderIsAReadableLine) {
  const Header header{.timing = {.kind = Kind::memory, .absolute = true, .clock_ps = 750},
                      .target = "model:optane-100",
                      .command = "sort \"a\\b\"\n\x01",
                      .creator = "nearfar 1"};
  const auto line = header_line(header);
  EXPECT_EQ(line,
            "nearfar-trace 1 {\"schema\": \"nearfar/trace/1\", \"kind\": \"memory\", \"counts\": "
            "\"cycles\", \"time\": \"absolute\", \"clock_ps\": 750, \"target\": "
            "\"model:optane-100\", \"command\": \"sort \\\"a\\\\b\\\"\\u000a\\u0001\", "
            "\"creator\": \"nearfar 1\"}\n");
  EXPECT_EQ(parse_header(line.substr(0, line.size() - 1)), header);

  const Header program{.timing = {.kind = Kind::program, .counts = Counts::instructions}};
  const auto other = header_line(program);
  EXPECT_EQ(parse_header(other.substr(0, other.size() - 1)), program);

  const Header machine{.timing = {.kind = Kind::memory, .counts = Counts::instructions},
                       .memory_bytes = std::uint64_t{512} << 20U};
  const auto whole = header_line(machine);
  EXPECT_NE(whole.find("\"memory_bytes\": 536870912"), std::string::npos);
  EXPECT_EQ(parse_header(whole.substr(0, whole.size() - 1)), machine);
}

TEST(PackedTrace, AHeaderMayHaveUnknownKeysAndMustHaveTheKnownOnes) {
  const auto header = [](std::string_view json) {
    return complaint("nearfar-trace 1 " + std::string(json) + "\n\x16" + std::string(1, '\0'));
  };
  constexpr std::string_view missing = "t: found no access in it, expected records";
  EXPECT_EQ(header(R"({"schema":"nearfar/trace/1","kind":"memory","counts":"instructions","x":1})"),
            missing);
  EXPECT_EQ(header(R"({"schema": "nearfar/trace/1", "kind": "film", "counts": "cycles"})"),
            "t: found 'film', expected 'memory' or 'program' for kind in the trace's header");
  EXPECT_EQ(header(R"({"schema": "nearfar/result/1"})"),
            "t: found 'nearfar/result/1', expected schema 'nearfar/trace/1' in the trace's header");
  EXPECT_EQ(header("{]"),
            "t: found '{]', expected a JSON object of strings and whole numbers in the header");
}

TEST(PackedTrace, AnotherVersionAndAForeignFileAreNamed) {
  EXPECT_EQ(
      complaint("nearfar-trace 3 {\"schema\": \"nearfar/trace/3\"}\n"),
      "t: found 'nearfar-trace 3', expected 'nearfar-trace 1' or 2: a trace of another version "
      "needs the nearfar that knows it");
  EXPECT_EQ(complaint("\x7f"
                      "ELF"),
            "t: found '\\x7fELF', expected a header 'nearfar-trace 1 {...}'");
}

TEST(PackedTrace, ATruncatedTraceSaysHowFarItGotWhereverItEnds) {
  auto records = random_records(5, true);
  records.resize(40);
  const auto whole = packed(records, {.timing = {.absolute = true, .clock_ps = 1}});
  const std::size_t header = whole.find('\n') + 1;
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    const auto outcome = fuzz::read_in_pieces(whole.substr(0, bytes), 1000, "nearfar");
    const std::string where = bytes < header
                                  ? "in the header"
                                  : "after " + std::to_string(outcome.records.size()) + " records";
    EXPECT_EQ(outcome.error, "t: found the end of the file " + where +
                                 ", expected the record of the trace's end: it was cut off; "
                                 "`nearfar trace info` counts what can be read");
    records.resize(40);
    EXPECT_TRUE(std::equal(outcome.records.begin(), outcome.records.end(), records.begin()));
  }
}

TEST(PackedTrace, DamageIsReportedWithItsRecord) {
  const auto whole = packed({{.address = Address(64), .line = 1, .size = 64}});
  const std::string header = whole.substr(0, whole.find('\n') + 1);
  EXPECT_EQ(complaint(header + "\x26" + std::string(1, '\0')),
            "t: record 1: found a tag 38, expected one of version 1; the trace is damaged");
  for (const std::string_view more : {"\x08", "\x08\x02"}) {
    EXPECT_EQ(complaint(whole + std::string(more)),
              "t: record 2: found data after the end, expected nothing");
  }
  EXPECT_EQ(complaint(header + "\x08\x02\x16\x02"),
            "t: record 2: found an end after 1 records, expected it after 2; the trace is damaged");
  const std::string none_such[] = {std::string(3, '\0'),                // a size of 0
                                   "\x0c",  // a fence with an address
                                   "\x08" + std::string(10, '\xff')};  // a number beyond 64 bits
  for (const std::string& bytes : none_such) {
    EXPECT_EQ(complaint(header + bytes),
              "t: record 1: found bytes that are no record, expected one of version 1; the trace "
              "is damaged");
  }
}

TEST(PackedTrace, ARecordThatTheFormatCannotSayIsRefused) {
  const auto put = [](Record record) {
    PackedWriter writer({});
    std::string bytes;
    writer.put(record, bytes);
  };
  EXPECT_THROW(put({.absolute = true}), InputError);
  EXPECT_THROW(put({.access = Access::write, .blocks = true}), InputError);
}

TEST(PackedTrace, DamagedBytesObeyTheLaws) {
  Rng rng(11);
  const std::string whole = packed(random_records(8, false)).substr(0, 900);
  for (std::uint64_t i = 0; i < sim::testing::cases(1'500); ++i) {
    std::string bytes = whole.substr(0, 1 + rng.below(whole.size()));
    for (std::uint64_t edits = rng.below(4); edits > 0; --edits) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
    }
    fuzz::check_reader(bytes, "nearfar");
  }
}

}  // namespace test_file
}  // namespace nearfar::trace
