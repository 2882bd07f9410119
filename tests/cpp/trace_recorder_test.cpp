// What is recorded of a program: every line that reaches memory and every fence, by thread.

#include "frontend/trace_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "../fuzz/packed_target.h"
#include "frontend/program.h"
#include "machine_fixture.h"
#include "trace/varint.h"

namespace nearfar::frontend {
namespace test_file {

using sim::cpu::InstructionKind;
using trace::Access;
using trace::Record;

/// The pieces of a recording, made into a trace as their taker does it.
struct Taken {
  std::string bytes;
  std::uint64_t records = 0;
  std::size_t pieces = 0;

  TraceRecorder::Take take() {
    return [this](std::string_view piece, std::uint64_t count) {
      bytes += piece;
      records = count;
      ++pieces;
    };
  }
  [[nodiscard]] std::vector<Record> read() const {
    std::string whole = bytes + '\x16';
    trace::append_varint(whole, records);
    const auto outcome = fuzz::read_in_pieces(whole, whole.size(), "nearfar");
    EXPECT_EQ(outcome.error, "");
    return outcome.records;
  }
};

TEST(TraceRecorder, PiecesAndAnEndMakeATrace) {
  Taken taken;
  TraceRecorder recorder(Gaps::time, Tick(300), {.target = "m"}, taken.take());
  constexpr std::uint64_t count = 200'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    recorder.add(i % 3 == 0, Access::read, Address(i * 0x1240 * line_bytes), Tick(i * 70), i);
  }
  EXPECT_GT(taken.pieces, 1u);
  recorder.flush();
  recorder.flush();  // there is nothing more
  const auto records = taken.read();
  ASSERT_EQ(records.size(), count);
  EXPECT_EQ(records[7], (Record{.address = Address(7 * 0x1240 * line_bytes),
                                .cycles = 490,
                                .line = 8,
                                .size = 64,
                                .absolute = true}));
}

TEST(TraceRecorder, GapsInInstructionsAreThoseOfTheThread) {
  Taken taken;
  TraceRecorder recorder(Gaps::instructions, Tick(300), {}, taken.take());
  recorder.add(0, Access::read, Address(64), Tick(1), 10);
  recorder.add(1, Access::nt_write, Address(128), Tick(2), 7);
  recorder.add(0, Access::store_fence, {}, Tick(3), 12);
  recorder.restart();
  recorder.add(0, Access::flush, Address(64), Tick(4), 5);
  recorder.flush();
  EXPECT_EQ(
      taken.read(),
      (std::vector<Record>{
          {.address = Address(64), .cycles = 10, .line = 1, .size = 64},
          {.address = Address(128),
           .cycles = 7,
           .line = 2,
           .size = 64,
           .thread = 1,
           .access = Access::nt_write},
          {.cycles = 2, .line = 3, .access = Access::store_fence},
          {.address = Address(64), .cycles = 5, .line = 4, .size = 64, .access = Access::flush},
      }));
}

/// A program of one thread that does one thing to lines of its memory, one after the other.
class Recorded {
 public:
  Recorded() : program_(sim::testing::optane(), {}), thread_(program_.thread_started()) {
    program_.mapped(Address(base), 1 << 20, Mapping::memory);
    program_.record(
        std::make_unique<TraceRecorder>(Gaps::time, Tick(300), trace::Header{}, taken_.take()));
  }

  void run(InstructionKind kind, std::uint64_t lines) {
    blocks_.push_back({.pc = 0x1000, .instructions = {sim::cpu::Instruction{.kind = kind}}});
    const bool fence = kind == InstructionKind::store_fence || kind == InstructionKind::full_fence;
    const bool store = kind == InstructionKind::nt_store;
    for (std::uint64_t i = 0; i < lines; ++i) {
      const sim::cpu::Access access{.address = base + i * line_bytes, .size = 64, .store = store};
      program_.run(thread_, blocks_.back(), {&access, fence ? 0u : 1u});
    }
    static_cast<void>(program_.now(thread_));
  }

  std::vector<Record> read() {
    program_.flush_trace();
    return taken_.read();
  }

 private:
  static constexpr std::uint64_t base = std::uint64_t{1} << 40;
  Taken taken_;
  Program program_;
  Program::Thread thread_;
  std::deque<sim::cpu::Block> blocks_;
};

std::size_t count(const std::vector<Record>& records, Access access) {
  return static_cast<std::size_t>(
      std::count_if(records.begin(), records.end(),
                    [&](const Record& record) { return record.access == access; }));
}

TEST(TraceRecorder, OnlyLinesThatTheCachesLackReachMemory) {
  Recorded recorded;
  recorded.run(InstructionKind::load, 256);
  const auto once = recorded.read();
  EXPECT_GE(count(once, Access::read), 256u);  // and what page walks and prefetchers read
  EXPECT_EQ(count(once, Access::read), once.size());
  recorded.run(InstructionKind::load, 256);
  EXPECT_EQ(recorded.read().size(), once.size());
  for (std::size_t i = 1; i < once.size(); ++i) {
    EXPECT_GE(once[i].cycles, once[i - 1].cycles);
    EXPECT_EQ(once[i].address.value() % line_bytes, 0u);
  }
}

TEST(TraceRecorder, StoresPastTheCachesAndFencesAreRecorded) {
  Recorded recorded;
  recorded.run(InstructionKind::nt_store, 32);
  recorded.run(InstructionKind::store_fence, 1);
  recorded.run(InstructionKind::full_fence, 1);
  const auto records = recorded.read();
  EXPECT_EQ(count(records, Access::nt_write), 32u);
  EXPECT_EQ(count(records, Access::store_fence), 1u);
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back().access, Access::full_fence);
}

}  // namespace test_file
}  // namespace nearfar::frontend
