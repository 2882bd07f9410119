// Binary traces of other simulators, and telling formats apart by the first bytes.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "../fuzz/packed_target.h"
#include "base/rng.h"
#include "trace/champsim.h"
#include "trace/gem5.h"
#include "trace/packed.h"

namespace nearfar::trace {
namespace test_file {

using namespace std::string_literals;

fuzz::Outcome read_all(std::string_view bytes, std::string_view format) {
  return fuzz::read_in_pieces(bytes, bytes.size() + 1, format);
}

/// One instruction of a ChampSim trace.
std::string instruction(const std::vector<std::uint64_t>& reads,
                        const std::vector<std::uint64_t>& writes) {
  std::string bytes(64, '\0');
  bytes[0] = 0x40;                   // its address
  bytes[8] = 1;                      // a branch
  bytes[10] = bytes[12] = '\x1a';    // registers
  const auto put = [&](std::size_t at, const std::vector<std::uint64_t>& addresses) {
    for (std::uint64_t address : addresses) {
      for (std::size_t i = 0; i < 8; ++i, address >>= 8) bytes[at++] = static_cast<char>(address);
    }
  };
  put(16, writes);
  put(32, reads);
  return bytes;
}

TEST(ChampSimTrace, AnInstructionReadsThenWritesAndOthersAreTheGap) {
  const auto outcome =
      read_all(instruction({}, {}) + instruction({0x1000, 0xffff'8000'0000'1234}, {0x2000}) +
                   instruction({}, {0x40, 0x80}),
               "champsim");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.records,
            (std::vector<Record>{
                {.address = Address(0x1000), .cycles = 2, .line = 2},
                {.address = Address(0xffff'8000'0000'1234), .line = 2},
                {.address = Address(0x2000), .line = 2, .access = Access::write},
                {.address = Address(0x40), .cycles = 1, .line = 3, .access = Access::write},
                {.address = Address(0x80), .line = 3, .access = Access::write},
            }));
}

TEST(ChampSimTrace, BytesOfAnotherFormatAreFoundOut) {
  EXPECT_EQ(read_all(std::string(128, 'z'), "champsim").error,
            "t: instruction 1: found bytes 122, 122 for is_branch and branch_taken, expected 0 or "
            "1: no ChampSim trace");
  EXPECT_EQ(read_all(instruction({64}, {}) + "12345", "champsim").error,
            "t: found 5 bytes after instruction 1, expected whole records of 64 bytes: the trace "
            "was cut off, or is none of ChampSim");
  EXPECT_EQ(read_all(instruction({}, {}), "champsim").error,
            "t: found no access in it, expected ChampSim instructions");
}

TEST(ChampSimTrace, AWrittenTraceReadsBackTheSame) {
  Rng rng(9);
  std::vector<Record> records;
  std::uint64_t instructions = 0;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t gap = 1 + rng.below(5);
    instructions += gap;
    const std::uint64_t reads = rng.below(5);
    const std::uint64_t writes = reads == 0 ? 1 + rng.below(2) : rng.below(3);
    for (std::uint64_t k = 0; k < reads + writes; ++k) {
      records.push_back({.address = Address(1 + rng.below(1 << 30)),
                         .cycles = k == 0 ? gap : 0,
                         .line = instructions,
                         .access = k < reads ? Access::read : Access::write});
    }
  }
  ChampSimWriter writer;
  std::string bytes;
  for (const Record& record : records) writer.put(record, bytes);
  writer.finish(bytes);
  EXPECT_EQ(bytes.size(), 64 * instructions);
  EXPECT_EQ(read_all(bytes, "champsim").records, records);
}

/// A header with 10^12 ticks a second, then a packet with an address of 0x1040, a write of 64
/// bytes at tick 500 with flags, and a program counter; encoded by hand.
const std::string gem5_trace =
    "gem5"s + "\x0d" + "\x0a\x04" + "cpu0" + "\x18\x80\xa0\x94\xa5\x8d\x1d" + "\x0f" +
    "\x08\xf4\x03" + "\x10\x04" + "\x18\xc0\x20" + "\x20\x40" + "\x28\x01" + "\x38\x90\x4e";

TEST(Gem5Trace, APacketIsAnAccessAtItsTick) {
  for (const char* format : {"gem5", "auto"}) {
    const auto outcome = read_all(gem5_trace, format);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.records, (std::vector<Record>{{.address = Address(0x1040),
                                                     .cycles = 500,
                                                     .line = 1,
                                                     .size = 64,
                                                     .access = Access::write,
                                                     .absolute = true}}));
  }
}

TEST(Gem5Trace, AWrittenTraceReadsBackTheSame) {
  Rng rng(4);
  std::vector<Record> records;
  for (std::uint64_t line = 1; line <= 200; ++line) {
    records.push_back({.address = Address(rng.next() >> rng.below(64)),
                       .cycles = rng.next() >> rng.below(64),
                       .line = line,
                       .size = static_cast<std::uint32_t>(1 + rng.below(4096)),
                       .access = rng.below(2) == 0 ? Access::read : Access::write,
                       .absolute = true});
  }
  Gem5Writer writer(1);
  std::string bytes;
  for (const Record& record : records) writer.put(record, bytes);
  writer.finish(bytes);
  EXPECT_EQ(read_all(bytes, "gem5").records, records);
}

TEST(Gem5Trace, ATruncatedTraceIsAnErrorWhereverItEnds) {
  for (std::size_t bytes = 1; bytes < gem5_trace.size(); ++bytes) {
    EXPECT_NE(read_all(gem5_trace.substr(0, bytes), "gem5").error, "") << bytes;
  }
}

TEST(Gem5Trace, APacketThatIsNoRequestIsNamed) {
  const std::string start = gem5_trace.substr(0, 18);
  EXPECT_EQ(read_all(start + "\x09\x08\x01\x10\x02\x18\xc0\x20\x20\x40", "gem5").error,
            "t: packet 1: found command 2, expected a request that reads or writes memory, such as "
            "1 (ReadReq) or 4 (WriteReq)");
  EXPECT_EQ(read_all(start + "\x02\x08\x01", "gem5").error,
            "t: packet 1: found a message without tick, cmd, addr or size, expected a Packet of "
            "gem5");
  EXPECT_EQ(read_all("gem5\x02\x18\x07", "gem5").error,
            "t: found 7 ticks a second in the header, expected ticks of whole picoseconds");
  EXPECT_EQ(read_all("gam5", "gem5").error, "t: found 'gam5', expected 'gem5' at its start");
}

/// A record of DynamoRIO's drmemtrace: type, size, address.
struct Entry {
  std::uint16_t type;
  std::uint16_t size;
  std::uint64_t address;
};

std::string memtrace(const std::vector<Entry>& entries) {
  std::string bytes;
  const auto append = [&](std::uint64_t value, int count) {
    for (; count > 0; --count, value >>= 8) bytes += static_cast<char>(value & 0xff);
  };
  for (const Entry& entry : entries) {
    append(entry.type, 2);
    append(entry.size, 2);
    append(entry.address, 8);
  }
  return bytes;
}

const Entry begin{25, 0, 5};
const Entry end{26, 0, 0};

TEST(Memtrace, AccessesCarryTheInstructionsOfTheirThread) {
  const std::string bytes = memtrace({begin,
                                      {28, 12, 5},  // a marker: the version
                                      {22, 0, 900},
                                      {24, 0, 17},
                                      {47, 8, 0x1234},  // an encoding
                                      {10, 3, 0x400000},
                                      {10, 2, 0x400003},
                                      {0, 8, 0x7fff0010},
                                      {1, 4, 0x7fff0020},
                                      {22, 0, 901},
                                      {48, 2, 0x400005},
                                      {29, 2, 0x400005},  // a further turn of a rep: no fetch
                                      {1, 64, 0x1000},
                                      {22, 0, 900},
                                      {17, 3, 0},  // three instructions
                                      {3, 1, 0x2000},
                                      end});
  EXPECT_EQ(read_all(bytes, "auto").error, "");
  EXPECT_EQ(read_all(bytes, "auto").records,
            (std::vector<Record>{
                {.address = Address(0x7fff0010), .cycles = 2, .line = 8, .size = 8},
                {.address = Address(0x7fff0020), .line = 9, .size = 4, .access = Access::write},
                {.address = Address(0x1000),
                 .cycles = 1,
                 .line = 13,
                 .size = 64,
                 .thread = 1,
                 .access = Access::write},
                {.address = Address(0x2000), .cycles = 3, .line = 16},
            }));
}

TEST(Memtrace, AFlushMayBeOneRecordOrTwo) {
  const auto records =
      read_all(memtrace({begin, {20, 64, 0x40}, {20, 0, 0x1000}, {21, 0, 0x3000}, end}), "memtrace")
          .records;
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].access, Access::flush);
  EXPECT_EQ(records[0].size, 64u);
  EXPECT_EQ(records[2].address, Address(0x2000));
  EXPECT_EQ(records[2].size, 4096u);
}

TEST(Memtrace, AnIncompleteTraceIsReportedWithItsRecord) {
  EXPECT_EQ(
      read_all(memtrace({begin, {0, 8, 64}}), "memtrace").error,
      "t: found the end of the file after 2 records, expected a footer: the trace was cut off");
  EXPECT_EQ(read_all(memtrace({begin, {50, 8, 64}}), "memtrace").error,
            "t: record 2: found type 50, expected one up to 49, the last that is known");
  EXPECT_EQ(
      read_all(memtrace({{0, 8, 64}}), "memtrace").error,
      "t: record 1: found type 0 with value 64, expected a header (25) of version 2 or later, "
      "as drraw2trace writes");
  EXPECT_EQ(read_all(memtrace({begin, {0, 4097, 64}}), "memtrace").error,
            "t: record 2: found a size of 4097, expected at most 4096 bytes");
  EXPECT_EQ(read_all(memtrace({begin, {0, 8, 64}, end, end}), "memtrace").error,
            "t: record 4: found data after the footer, expected nothing");
  EXPECT_EQ(read_all(memtrace({begin, end}), "memtrace").error,
            "t: found no access in it, expected records of drmemtrace");
}

TEST(ForeignTraces, DamagedBytesObeyTheLaws) {
  Rng rng(12);
  const std::string program = memtrace(
      {begin, {22, 0, 9}, {10, 3, 64}, {0, 8, 64}, {1, 8, 128}, {20, 0, 0}, {21, 0, 4096}, end});
  std::string champsim;
  for (int i = 0; i < 4; ++i) champsim += instruction({rng.next()}, {rng.next()});
  for (int i = 0; i < 1'000; ++i) {
    std::string packets = gem5_trace + gem5_trace.substr(18);
    packets.resize(1 + rng.below(packets.size()));
    packets[rng.below(packets.size())] = static_cast<char>(rng.next());
    fuzz::check_reader(packets, "gem5");
    fuzz::check_reader(packets, "auto");
    std::string instructions = champsim.substr(0, 1 + rng.below(champsim.size()));
    instructions[rng.below(instructions.size())] = static_cast<char>(rng.next());
    fuzz::check_reader(instructions, "champsim");
    std::string entries = program.substr(0, 1 + rng.below(program.size()));
    entries[rng.below(entries.size())] = static_cast<char>(rng.next());
    fuzz::check_reader(entries, "memtrace");
  }
}

TEST(ForeignTraces, TheFirstBytesTellTheFormat) {
  const struct {
    std::string bytes;
    std::string_view format;
  } starts[] = {{"LD 0x40\n", "ramulator"},
                {"L 40,8\n", "lackey"},
                {gem5_trace, "gem5"},
                {header_line({}) + "\x08\x02", "nearfar"},
                {"n", ""},
                {memtrace({{25, 0, 5}}), "memtrace"},
                {"c0 R", "vans"}};
  for (const auto& [bytes, format] : starts) {
    const auto reader = make_reader("t", "auto");
    std::vector<Record> records;
    try {
      reader->feed(bytes, records);
      reader->finish(records);
    } catch (const InputError&) {
      // A lone line may be no whole trace.
    }
    EXPECT_EQ(reader->format_name(), format) << bytes;
  }
}

}  // namespace test_file
}  // namespace nearfar::trace
