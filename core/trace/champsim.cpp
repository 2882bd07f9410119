#include "trace/champsim.h"

#include <algorithm>

#include "base/error.h"
#include "trace/format.h"

namespace nearfar::trace {
namespace {

// ChampSim's inc/trace_instruction.h: ip (8 bytes), is_branch, branch_taken, 2 destination and 4
// source registers (1 each), 2 destination and 4 source addresses of memory (8 each).
constexpr std::size_t instruction_bytes = 64;
constexpr std::size_t is_branch_at = 8;
constexpr std::size_t branch_taken_at = 9;
constexpr std::size_t written_at = 16;
constexpr std::size_t read_at = 32;

std::uint64_t word(const char* bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Between two accesses. They take 64 bytes each: times in other units must not fill the disk.
constexpr std::uint64_t most_instructions = 1'000'000;

constexpr std::size_t word_bytes = 8;
constexpr std::size_t most_writes = (read_at - written_at) / word_bytes;
constexpr std::size_t most_reads = (instruction_bytes - read_at) / word_bytes;

}  // namespace

std::string ChampSimReader::place(std::uint64_t line) const {
  return name() + ": instruction " + std::to_string(line) + ": ";
}

void ChampSimReader::feed(std::string_view chunk, std::vector<Record>& out) {
  if (!partial_.empty()) {
    const std::size_t missing = std::min(instruction_bytes - partial_.size(), chunk.size());
    partial_ += chunk.substr(0, missing);
    chunk.remove_prefix(missing);
    if (partial_.size() < instruction_bytes) return;
    read_instruction(partial_.data(), out);
    partial_.clear();
  }
  while (chunk.size() >= instruction_bytes) {
    read_instruction(chunk.data(), out);
    chunk.remove_prefix(instruction_bytes);
  }
  partial_ = chunk;
}

void ChampSimReader::read_instruction(const char* bytes, std::vector<Record>& out) {
  ++instructions_;
  ++gap_;
  // Only these fields cannot hold every value, so only they tell another file from a trace.
  if ((bytes[is_branch_at] & ~1) != 0 || (bytes[branch_taken_at] & ~1) != 0) {
    throw InputError(place(instructions_) + "found bytes " +
                     std::to_string(static_cast<unsigned char>(bytes[is_branch_at])) + ", " +
                     std::to_string(static_cast<unsigned char>(bytes[branch_taken_at])) +
                     " for is_branch and branch_taken, expected 0 or 1: no ChampSim trace");
  }
  const auto take = [&](std::size_t at, std::size_t end, Access access) {
    for (; at < end; at += word_bytes) {
      const std::uint64_t address = word(bytes + at);
      if (address == 0) continue;
      out.push_back(
          {.address = Address(address), .cycles = gap_, .line = instructions_, .access = access});
      gap_ = 0;
      any_ = true;
    }
  };
  take(read_at, instruction_bytes, Access::read);
  take(written_at, read_at, Access::write);
}

void ChampSimReader::finish(std::vector<Record>&) {
  if (!partial_.empty()) {
    throw InputError(name() + ": found " + std::to_string(partial_.size()) +
                     " bytes after instruction " + std::to_string(instructions_) +
                     ", expected whole records of 64 bytes: the trace was cut off, or is none of "
                     "ChampSim");
  }
  if (!any_) throw InputError(name() + ": found no access in it, expected ChampSim instructions");
}

/// An instruction's reads come before its writes.
bool ChampSimWriter::has_room(Access access) const {
  if (instruction_.empty()) return false;
  return access == Access::read ? writes_ == 0 && reads_ < most_reads : writes_ < most_writes;
}

void ChampSimWriter::put(const Record& record, std::string& out) {
  std::uint64_t gap = record.cycles;
  if (record.absolute) {
    gap = record.cycles > cycle_ ? record.cycles - cycle_ : 0;
    cycle_ = record.cycles;
  }
  const bool in_words = record.access == Access::read || record.access == Access::write;
  if (!in_words || record.blocks || gap > most_instructions) {
    refuse_record(record, "a source or destination of an instruction", "champsim");
  }
  if (gap != 0 || !has_room(record.access)) {
    out += instruction_;
    out.append((std::max<std::uint64_t>(gap, 1) - 1) * instruction_bytes, '\0');
    instruction_.assign(instruction_bytes, '\0');
    reads_ = writes_ = 0;
  }
  std::size_t at = record.access == Access::read ? read_at + word_bytes * reads_++
                                                 : written_at + word_bytes * writes_++;
  // Address 0 means no access; another byte of the line means the same line.
  std::uint64_t address = std::max<std::uint64_t>(record.address.value(), 1);
  for (; address != 0; address >>= 8) instruction_[at++] = static_cast<char>(address & 0xff);
}

void ChampSimWriter::finish(std::string& out) { out += instruction_; }

extern constexpr Format champsim = {
    .name = "champsim",
    .syntax = "64 bytes an instruction of ChampSim",
    .sized = false,
    .open = [](std::string name) -> std::unique_ptr<Reader> {
      return std::make_unique<ChampSimReader>(std::move(name));
    },
    .create = [](const Header&) -> std::unique_ptr<Writer> {
      return std::make_unique<ChampSimWriter>();
    },
};

}  // namespace nearfar::trace
