#include "frontend/program_trace_reader.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"
#include "frontend/frames.h"
#include "trace/reader.h"
#include "trace/varint.h"

namespace nearfar::frontend {
namespace {

using sim::cpu::Access;
using sim::cpu::Block;
using sim::cpu::BlockEnd;
using sim::cpu::Instruction;
using sim::cpu::InstructionKind;
using sim::cpu::Register;

constexpr std::size_t instruction_bytes = 13;
/// QEMU's blocks have 512 at most.
constexpr std::uint64_t most_instructions = 4096;
constexpr std::uint64_t most_accesses = 1 << 16;
/// A line each, which is the most that one moves but for a few.
constexpr Bytes most_accessed = most_accesses * line_bytes;
/// Those of the longest instructions (fsin) fit in every reorder buffer.
constexpr std::uint8_t most_slots = 64;

bool known(Register one) { return one < sim::cpu::register_count || one == sim::cpu::no_register; }

bool known(const Instruction& one) {
  const auto all_known = [](const auto& registers) {
    return std::ranges::all_of(registers, [](Register r) { return known(r); });
  };
  return static_cast<std::size_t>(one.kind) < sim::cpu::instruction_kinds &&
         one.uops <= most_slots && all_known(one.sources) && all_known(one.address_sources) &&
         all_known(one.destinations);
}

/// Whether an access can be where the load before it leads.
bool may_lead(std::span<const Access> before, const Access& pointer) {
  if (pointer.store || pointer.size != 0 || before.empty()) return false;
  const Access& load = before.back();
  return load.instruction == pointer.instruction && !load.store && !load.pointer && load.size != 0;
}

Instruction decoded(std::string_view bytes) {
  std::array<std::uint8_t, instruction_bytes> all{};
  std::ranges::transform(bytes, all.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  Instruction one{.kind = static_cast<InstructionKind>(all[0]),
                  .latency = all[1],
                  .uops = all[2],
                  .jumps = all[3] != 0};
  auto* at = &all[4];
  for (Register& r : one.sources) r = *at++;
  for (Register& r : one.address_sources) r = *at++;
  for (Register& r : one.destinations) r = *at++;
  return one;
}

}  // namespace

/// The bytes of an event, some of which may not have arrived.
class ProgramTraceReader::Cursor {
 public:
  struct Incomplete {};
  struct Damaged {};

  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }

  std::uint8_t byte() { return static_cast<std::uint8_t>(bytes(1).front()); }
  std::string_view bytes(std::size_t count) {
    if (bytes_.size() - at_ < count) throw Incomplete();
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    const char* at = bytes_.data() + at_;
    if (bytes_.size() - at_ >= trace::max_varint_bytes) {
      if (!trace::read_varint(at, value)) throw Damaged();
      at_ = static_cast<std::size_t>(at - bytes_.data());
      return value;
    }
    std::array<char, trace::max_varint_bytes> last;
    last.fill('\x80');  // no number ends there
    std::ranges::copy(bytes_.substr(at_), last.begin());
    at = last.data();
    if (!trace::read_long_varint(at, value)) throw Incomplete();
    at_ += static_cast<std::size_t>(at - last.data());
    return value;
  }
  std::uint64_t number_up_to(std::uint64_t most) {
    const std::uint64_t value = number();
    if (value > most) throw Damaged();
    return value;
  }
  std::uint64_t difference() { return trace::unzigzag(number()); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::uint64_t ProgramTraceReader::Counts::all_events() const {
  return std::accumulate(events.begin(), events.end(), std::uint64_t{0});
}

void ProgramTraceReader::refuse(const std::string& found, const std::string& expected) const {
  throw InputError(name_ + ": event " + std::to_string(counts_.all_events() + 1) + ": found " +
                   found + ", expected " + expected);
}

void ProgramTraceReader::feed(std::string_view chunk) {
  if (!engine_) chunk.remove_prefix(read_header(chunk));
  pending_ += chunk;
  std::size_t done = 0;
  try {
    while (done < pending_.size()) {
      if (ended_) refuse("data after the end", "nothing");
      Cursor cursor(std::string_view(pending_).substr(done));
      read_event(cursor);
      done += cursor.at();
    }
  } catch (const Cursor::Incomplete&) {
    pending_.erase(0, done);  // the rest of the event is in the next piece
    return;
  } catch (const Cursor::Damaged&) {
    refuse("bytes that are no event", "one of version 2; the trace is damaged");
  }
  pending_.erase(0, done);
}

std::size_t ProgramTraceReader::read_header(std::string_view chunk) {
  const std::size_t newline = std::min(chunk.find('\n'), chunk.size());
  line_ += chunk.substr(0, newline);
  if (line_.size() >= trace::max_header_bytes) {
    throw InputError(name_ + ": found a header without an end, expected one of at most " +
                     std::to_string(trace::max_header_bytes) + " bytes");
  }
  if (newline == chunk.size()) return newline;
  trace::Header header;
  try {
    header = trace::parse_header(line_);
  } catch (const InputError& error) {
    throw InputError(name_ + ": " + error.what());
  }
  if (header.version != 2) {
    throw InputError(name_ + ": found a trace of version " + std::to_string(header.version) +
                     ", expected one of version 2");
  }
  engine_ = make_(header);
  engine_->watch_pages([this](std::uint64_t page, bool huge, Address frame) {
    placed_[page / Frames::small << 1 | (huge ? 1u : 0u)] = frame.value() / Frames::small;
  });
  return newline + 1;
}

void ProgramTraceReader::finish() {
  if (ended_ && pending_.empty()) return;
  throw InputError(name_ + ": found the end of the file " +
                   (engine_ ? "after " + std::to_string(counts_.all_events()) + " events"
                            : std::string("in the header")) +
                   ", expected that of the trace: it was cut off");
}

void ProgramTraceReader::read_event(Cursor& cursor) {
  const std::uint8_t tag = cursor.byte();
  if (tag == static_cast<std::uint8_t>(ProgramEvent::end)) {
    read_end(cursor);
    return;
  }
  if (tag >= program_events) throw Cursor::Damaged();
  apply(static_cast<ProgramEvent>(tag), cursor);
  ++counts_.events[tag];
}

void ProgramTraceReader::read_end(Cursor& cursor) {
  const std::uint64_t number = cursor.number();
  if (number != counts_.all_events()) {
    refuse("an end after " + std::to_string(counts_.all_events()) + " events",
           "it after " + std::to_string(number) + "; the trace is damaged");
  }
  ended_ = true;
}

/// Nothing is done before all of the event is known to have arrived.
void ProgramTraceReader::apply(ProgramEvent event, Cursor& cursor) {
  switch (event) {
    case ProgramEvent::block:
      define(cursor);
      break;
    case ProgramEvent::run:
      run(cursor);
      break;
    case ProgramEvent::thread:
      choose_thread(cursor);
      break;
    case ProgramEvent::begins:
      begin_thread(cursor);
      break;
    case ProgramEvent::begins_region:
      engine_->begin_region();
      break;
    case ProgramEvent::ends_region:
      engine_->end_region();
      break;
    case ProgramEvent::frame:
      check_frame(cursor);
      break;
    case ProgramEvent::maps:
    case ProgramEvent::unmaps:
    case ProgramEvent::remaps:
      apply_to_memory(event, cursor);
      break;
    default:
      apply_to_thread(event, cursor);
  }
}

void ProgramTraceReader::apply_to_memory(ProgramEvent event, Cursor& cursor) {
  const Address address(cursor.number());
  const Bytes bytes = cursor.number_up_to(~address.value());
  if (event == ProgramEvent::maps) {
    const std::uint64_t kind = cursor.number_up_to(static_cast<unsigned>(Mapping::persistent));
    engine_->mapped(address, bytes, static_cast<Mapping>(kind));
  } else if (event == ProgramEvent::unmaps) {
    engine_->unmapped(address, bytes);
  } else {
    const Address to(cursor.number());
    engine_->remapped(address, bytes, to, cursor.number_up_to(~to.value()));
  }
}

void ProgramTraceReader::apply_to_thread(ProgramEvent event, Cursor& cursor) {
  Thread& thread = running();
  const auto number = static_cast<Engine::Thread>(thread_);
  switch (event) {
    case ProgramEvent::ends:
      thread.ended = true;
      engine_->end_thread(number);
      break;
    case ProgramEvent::skips:
      engine_->skip(number, cursor.number_up_to(most_skipped));
      break;
    case ProgramEvent::leaves:
      engine_->leave(number);
      break;
    case ProgramEvent::returns: {
      engine_->come_back(number, later(engine_->clock(number), cursor.number()));
      break;
    }
    case ProgramEvent::looks:
      engine_->now(number);
      break;
    default: {
      const Address address(cursor.number());
      engine_->flush_range(number, address,
                           cursor.number_up_to(std::min(most_flushed, ~address.value())));
    }
  }
}

ProgramTraceReader::Thread& ProgramTraceReader::running() {
  if (thread_ >= threads_.size() || threads_[thread_].ended) {
    refuse("thread " + std::to_string(thread_), "one that has begun and not ended");
  }
  return threads_[thread_];
}

void ProgramTraceReader::choose_thread(Cursor& cursor) {
  thread_ = cursor.number_up_to(most_threads);
  static_cast<void>(running());
}

void ProgramTraceReader::begin_thread(Cursor& cursor) {
  const std::uint64_t difference = cursor.difference();
  const bool behind = (difference >> 63) != 0;
  if (threads_.size() > most_threads) refuse("too many threads", "65536 at most");
  Tick last{};
  std::size_t alive = 0;
  for (Engine::Thread one = 0; one < threads_.size(); ++one) {
    last = max(last, engine_->clock(one));
    alive += threads_[one].ended ? 0 : 1;
  }
  if (alive == most_alive)
    refuse("too many threads at once", std::to_string(most_alive) + " at most");
  // On a faster machine there may be less behind the furthest thread than there was.
  const Tick at = behind ? last - std::min(last, Tick(0 - difference)) : later(last, difference);
  engine_->add_thread(at);
  threads_.emplace_back();
}

/// That time, `span` ps on; one beyond what the cores can count is refused.
Tick ProgramTraceReader::later(Tick from, std::uint64_t span) const {
  if (span > latest.ps() || from > latest - Tick(span)) {
    refuse("a time of " + std::to_string(span) + " ps on",
           "one before " + std::to_string(latest.ps()) + " ps in all");
  }
  return from + Tick(span);
}

void ProgramTraceReader::define(Cursor& cursor) {
  const std::uint64_t pc = last_pc_ + cursor.difference();
  Block block;
  block.pc = pc;
  block.next = pc + cursor.number();
  block.target = pc + cursor.difference();
  block.end = static_cast<BlockEnd>(cursor.number_up_to(static_cast<unsigned>(BlockEnd::back)));
  for (std::uint64_t left = cursor.number_up_to(most_instructions); left != 0; --left) {
    const Instruction one = decoded(cursor.bytes(instruction_bytes));
    if (!known(one)) throw Cursor::Damaged();
    block.instructions.push_back(one);
  }
  last_pc_ = pc;
  blocks_.push_back(std::move(block));
}

void ProgramTraceReader::run(Cursor& cursor) {
  Thread& thread = running();
  const std::uint64_t number = cursor.number();
  if (number >= blocks_.size()) {
    refuse("block " + std::to_string(number), "one of " + std::to_string(blocks_.size()));
  }
  const Block& block = blocks_[number];
  accesses_.clear();
  std::uint64_t last = thread.last;
  std::uint64_t instruction = 0;
  Bytes bytes = 0;
  for (std::uint64_t left = cursor.number_up_to(most_accesses); left != 0; --left) {
    const std::uint64_t what = cursor.number();
    const std::uint64_t step = trace::unzigzag(what >> 2);
    if (step >= block.instructions.size() - instruction) throw Cursor::Damaged();
    instruction += step;
    const std::uint64_t size = cursor.number_up_to(0xffff);
    bytes += size;
    if (bytes > most_accessed) throw Cursor::Damaged();
    last += cursor.difference();
    const Access access{.address = last,
                        .size = static_cast<std::uint16_t>(size),
                        .instruction = static_cast<std::uint16_t>(instruction),
                        .store = (what & 1) != 0,
                        .pointer = (what & 2) != 0};
    if (access.pointer && !may_lead(accesses_, access)) throw Cursor::Damaged();
    accesses_.push_back(access);
  }
  thread.last = last;
  count(block, accesses_);
  engine_->run(static_cast<Engine::Thread>(thread_), block, accesses_);
}

void ProgramTraceReader::count(const Block& block, std::span<const Access> accesses) {
  counts_.instructions += block.instructions.size();
  for (const Access& access : accesses) {
    if (access.store) {
      ++counts_.stores;
    } else if (access.pointer) {
      ++counts_.marked_loads;
    } else if (access.size != 0) {
      ++counts_.loads;
    }
  }
}

void ProgramTraceReader::check_frame(Cursor& cursor) {
  const std::uint64_t page = cursor.number();
  const std::uint64_t frame = cursor.number();
  const auto found = placed_.find(page);
  if (found == placed_.end() || found->second != frame) return;
  ++counts_.frames_as_recorded;
}

}  // namespace nearfar::frontend
