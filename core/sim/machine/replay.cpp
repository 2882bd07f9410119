#include "sim/machine/replay.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace nearfar::sim {
namespace {

/// Half of what a Tick holds, so that no sum of an allowed time and a wait overflows.
constexpr Tick latest{Tick::never().ps() / 2};

/// How much text is parsed before its accesses are played: bounds the memory they take.
constexpr std::size_t piece_bytes = 64 * 1024;

std::string hex(std::uint64_t value) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), digits[value & 15]);
    value >>= 4;
  } while (value != 0);
  return "0x" + text;
}

}  // namespace

double ReplayResult::gb_per_s() const {
  if (elapsed == Tick{}) return 0;
  return static_cast<double>(requests * line_bytes) / elapsed.ns();
}

Replay::Replay(Device& device, trace::Parser parser, const Options& options)
    : device_(device),
      parser_(std::move(parser)),
      options_(options),
      capacity_(device.capacity()),
      max_cycles_(options.clock == Tick{} ? 0 : latest / options.clock),
      requester_(device, {.outstanding = options.outstanding, .tell_media = options.tell_media}) {
  if (options.clock == Tick{}) throw InputError("the trace's clock period must be above 0 ps");
}

void Replay::feed(std::string_view chunk) {
  while (!chunk.empty()) {
    const std::string_view piece = chunk.substr(0, piece_bytes);
    chunk.remove_prefix(piece.size());
    try {
      parser_.feed(piece, records_);
    } catch (const InputError&) {
      play_all();  // an address beyond memory on an earlier line is the error to report
      throw;
    }
    play_all();
  }
}

ReplayResult Replay::finish() {
  parser_.finish(records_);
  play_all();
  requester_.drain();
  requester_.settle();

  const Requester::Totals& totals = requester_.totals();
  const Histogram& latency = requester_.read_latency();
  ReplayResult result{
      .requests = totals.requests(),
      .reads = totals.reads(),
      .writes = totals.writes(),
      .media_writes = totals.media_writes,
      .elapsed = totals.last_done - first_due_.value_or(totals.last_done),
      .read_p50 = Tick(latency.quantile(1, 2)),
      .read_p99 = Tick(latency.quantile(99, 100)),
      .read_p999 = Tick(latency.quantile(999, 1000)),
      .read_max = Tick(latency.max()),
      .late = late_,
      .late_max = late_max_,
      .counters = {},
  };
  Counters counters;
  device_.register_counters(counters);
  result.counters = counters.read();
  return result;
}

void Replay::play_all() {
  for (const trace::Record& record : records_) play(record);
  records_.clear();
}

void Replay::play(const trace::Record& record) {
  check_capacity(record);
  const bool paced = options_.pace == Pace::trace;
  const Tick due = paced ? due_time(record) : requester_.now();
  if (!first_due_) first_due_ = due;
  requester_.advance_to(due);

  const Op op = record.access == trace::Access::read ? Op::read : Op::write;
  const Address end = record.address + record.size;
  for (Address line = record.address.aligned_down(line_bytes); line < end;
       line = line + line_bytes) {
    const std::uint64_t id = requester_.send(line, op);
    if (paced && requester_.now() > due) {
      ++late_;
      late_max_ = max(late_max_, requester_.now() - due);
    }
    if (record.blocks) blocking_.push_back(id);
  }
  last_entry_ = requester_.now();
  for (const std::uint64_t id : blocking_) requester_.wait_for(id);
  blocking_.clear();
  unblocked_ = requester_.now();
}

void Replay::check_capacity(const trace::Record& record) const {
  const std::uint64_t address = record.address.value();
  if (address < capacity_ && record.size <= capacity_ - address) return;
  throw InputError(parser_.place(record.line) + "found " +
                   (record.size == 1 ? "" : std::to_string(record.size) + " bytes at ") +
                   "address " + hex(address) + ", expected one below " + hex(capacity_) +
                   ", the memory's capacity");
}

/// A cycle since the access before counts from when that really entered, as in the
/// simulators these formats are from: while one waits, their clocks stop reading the trace.
/// Nothing is due before the access that blocks it has completed.
Tick Replay::due_time(const trace::Record& record) const {
  if (record.cycles <= max_cycles_) {
    const Tick span = options_.clock * record.cycles;
    const Tick due = record.absolute ? span : max(last_entry_ + span, unblocked_);
    if (due <= latest) return due;
  }
  throw InputError(parser_.place(record.line) + "found a time " + std::to_string(record.cycles) +
                   " cycles of " + std::to_string(options_.clock.ps()) +
                   " ps away, expected the trace to end within 106 days");
}

}  // namespace nearfar::sim
