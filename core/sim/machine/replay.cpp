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

ReplayResult::ReadLatency read_latency(const Histogram& latency) {
  ReplayResult::ReadLatency found{.p50 = Tick(latency.quantile(1, 2)),
                                  .p90 = Tick(latency.quantile(9, 10)),
                                  .p99 = Tick(latency.quantile(99, 100)),
                                  .p999 = Tick(latency.quantile(999, 1000)),
                                  .max = Tick(latency.max()),
                                  .count = latency.count()};
  found.mean_ps = static_cast<double>(latency.sum()) / static_cast<double>(found.count);
  constexpr unsigned eighths = 3;
  latency.each(eighths, [&](std::uint64_t highest, std::uint64_t count) {
    found.ranges.emplace_back(highest, count);
  });
  return found;
}

}  // namespace

std::optional<double> ReplayResult::gb_per_s() const {
  if (elapsed == Tick{}) return std::nullopt;
  return static_cast<double>(requests * line_bytes) / elapsed.ns();
}

Replay::Replay(Device& device, std::unique_ptr<trace::Reader> reader, const Options& options)
    : device_(device),
      reader_(std::move(reader)),
      options_(options),
      capacity_(device.capacity()),
      requester_(device, {.outstanding = options.outstanding, .tell_media = options.tell_media}),
      window_(options.window),
      one_queue_(device.queues() == 1),
      pages_(capacity_) {
  if (options.clock == Tick{}) throw InputError("the trace's clock period must be above 0 ps");
}

void Replay::feed(std::string_view chunk) {
  while (!chunk.empty() && !done_) {
    const std::string_view piece = chunk.substr(0, piece_bytes);
    chunk.remove_prefix(piece.size());
    try {
      reader_->feed(piece, records_);
    } catch (const InputError&) {
      play_all();  // an address beyond memory on an earlier line is the error to report
      if (done_) return;
      throw;
    }
    play_all();
  }
}

ReplayResult Replay::finish() {
  if (!done_) {
    reader_->finish(records_);
    play_all();
  }
  if (!counting_) {
    throw InputError(
        reader_->name() + ": found the end of the trace after " +
        std::to_string(window_.position()) +
        (timing_.counts == trace::Counts::instructions ? " instructions" : " records") +
        ", expected more than the " + std::to_string(options_.window.skip + options_.window.warm) +
        " to skip and to warm up with");
  }
  finish_playing();

  const Requester::Totals& totals = requester_.totals();
  const Tick end = options_.drain && totals.writes() != 0 ? requester_.now() : totals.last_done;
  ReplayResult result{
      .requests = totals.requests(),
      .reads = totals.reads(),
      .writes = totals.writes(),
      .fences = fence_count_,
      .media_writes = totals.media_writes,
      .elapsed = first_due_ ? end - *first_due_ : Tick{},
      .read_latency = {},
      .late = {},
      .traffic = requester_.traffic(),
      .counters = read_counters(),
  };
  if (totals.reads() != 0) {
    result.read_latency = read_latency(requester_.read_latency());
  }
  if (options_.pace == Pace::trace) result.late = {.requests = late_, .longest = late_max_};
  return result;
}

void Replay::finish_playing() {
  if (options_.drain) {
    requester_.empty_queues();
  } else {
    requester_.drain();
  }
  requester_.settle();
}

/// The device's counters since counting began.
std::vector<Counters::Reading> Replay::read_counters() const {
  Counters counters;
  device_.register_counters(counters);
  std::vector<Counters::Reading> readings = counters.read();
  for (std::size_t i = 0; i < before_.size(); ++i) readings[i].value -= before_[i].value;
  return readings;
}

void Replay::play_all() {
  if (!records_.empty() && !begun_) begin();
  for (const trace::Record& record : records_) {
    if (is_plain(record)) [[likely]] {
      const Op op = record.access == trace::Access::read ? Op::read : Op::write;
      const Address line = record.address.aligned_down(line_bytes);
      requester_.use_port(port_of(line, op), record.thread);
      requester_.send(line, op);
      continue;
    }
    play(record);
    if (done_) break;
  }
  records_.clear();
}

/// With the first record the trace as a whole is known.
void Replay::begin() {
  begun_ = true;
  timing_ = reader_->timing();
  if (options_.trace_clock && timing_.clock_ps != 0) options_.clock = Tick(timing_.clock_ps);
  max_cycles_ = latest / options_.clock;
  const bool program = timing_.kind == trace::Kind::program;
  frames_ = options_.frames.value_or(program ? Frames::first_touch : Frames::as_is);
}

/// Whether a record is one line of memory, which is sent as soon as it is taken. Most are.
bool Replay::is_plain(const trace::Record& record) const {
  const std::uint64_t address = record.address.value();
  return plain_ && !trace::is_fence(record.access) && !record.blocks && address < capacity_ &&
         address % line_bytes + record.size <= line_bytes;
}

void Replay::play(trace::Record record) {
  const trace::Part part = window_.place(record, timing_.counts);
  if (part == trace::Part::skipped) return;
  if (part == trace::Part::beyond) {
    done_ = true;
    return;
  }
  if (part == trace::Part::counted && !counting_) count_from_here();

  Timeline& timeline = timeline_of(record.thread);
  wait_for_fence(record.thread, timeline);
  const bool paced = options_.pace == Pace::trace;
  const Tick due = paced ? due_time(record, timeline) : requester_.now();
  requester_.advance_to(due);
  if (trace::is_fence(record.access)) {
    ++fence_count_;
    if (record.thread >= fences_.size()) fences_.resize(record.thread + std::size_t{1});
    fences_[record.thread] = record.access;
  } else if (record.access != trace::Access::flush || timing_.kind == trace::Kind::memory) {
    if (!first_due_) {
      first_due_ = max(due, counting_since_);
      requester_.count_traffic_from(*first_due_);
    }
    play_lines(record, due);
  }
  timeline.last_entry = requester_.now();
  for (const std::uint64_t id : blocking_) requester_.wait_for(id);
  blocking_.clear();
  timeline.unblocked = requester_.now();
  // From the first access on, until there is a fence, whose thread waits.
  const trace::Window& window = options_.window;
  plain_ = counting_ && first_due_ && fences_.empty() && !paced && frames_ == Frames::as_is &&
           timing_.kind == trace::Kind::memory && window.skip + window.warm + window.run == 0;
}

void Replay::play_lines(const trace::Record& record, Tick due) {
  if (frames_ == Frames::as_is) check_capacity(record);
  const Op op = record.access == trace::Access::read ? Op::read : Op::write;
  const Address first = record.address.aligned_down(line_bytes);
  const std::uint64_t lines = (record.address - first + record.size - 1) / line_bytes + 1;
  for (std::uint64_t i = 0; i < lines; ++i) {
    const Address line = first + i * line_bytes;
    const Address at = place(record, line);
    requester_.use_port(port_of(at, op), record.thread);
    const std::uint64_t id = requester_.send(at, op);
    if (options_.pace == Pace::trace && requester_.now() > due) {
      ++late_;
      late_max_ = max(late_max_, requester_.now() - due);
    }
    if (record.blocks) blocking_.push_back(id);
  }
}

/// A queue has one for reads and one for writes, as that of cores (see Tiers).
std::uint16_t Replay::port_of(Address line, Op op) const {
  return sim::port_of(one_queue_ ? 0 : device_.queue_of(line), op);
}

/// Warming up is over: its requests finish first, so that none of them is counted.
void Replay::count_from_here() {
  counting_ = true;
  if (options_.window.warm == 0) return;
  finish_playing();
  before_ = read_counters();
  requester_.forget();
  counting_since_ = requester_.now();
  for (Timeline& timeline : timelines_) {
    timeline.last_entry = timeline.unblocked = counting_since_;
  }
  first_due_.reset();
  fence_count_ = 0;
  late_ = 0;
  late_max_ = {};
}

Replay::Timeline& Replay::timeline_of(std::uint16_t thread) {
  const std::size_t index = timing_.counts == trace::Counts::instructions ? thread : 0;
  if (index >= timelines_.size()) timelines_.resize(index + 1);
  Timeline& timeline = timelines_[index];
  if (!timeline.begun) timeline = {true, requester_.now(), requester_.now()};
  return timeline;
}

/// The fence before this record of the thread, if there was one. Others go on meanwhile.
void Replay::wait_for_fence(std::uint16_t thread, Timeline& timeline) {
  if (thread >= fences_.size() || !trace::is_fence(fences_[thread])) return;
  const bool full = fences_[thread] == trace::Access::full_fence;
  fences_[thread] = trace::Access::read;
  requester_.wait_for_thread(thread, full);
  if (full) device_.fence(requester_.now());
  timeline.unblocked = max(timeline.unblocked, requester_.now());
}

Address Replay::place(const trace::Record& record, Address line) {
  if (frames_ == Frames::as_is) return line;
  if (frames_ == Frames::fold) return Address(line.value() % (capacity_ - capacity_ % line_bytes));
  if (const auto placed = pages_.place(line)) return *placed;
  throw InputError(reader_->place(record.line) + "found a page more than the " +
                   std::to_string(capacity_ / FirstTouch::page_bytes) +
                   " that the memory has, expected a program that fits, or --frames fold");
}

void Replay::check_capacity(const trace::Record& record) {
  const std::uint64_t address = record.address.value();
  if (address < capacity_ && record.size <= capacity_ - address) return;
  beyond_memory_ = true;
  throw InputError(reader_->place(record.line) + "found " +
                   (record.size == 1 ? "" : std::to_string(record.size) + " bytes at ") +
                   "address " + hex(address) + ", expected one below " + hex(capacity_) +
                   ", the memory's capacity, or --frames first-touch or fold");
}

/// A cycle since the access before counts from when that really entered, as in the
/// simulators these formats are from: while one waits, their clocks stop reading the trace.
/// Nothing is due before the access that blocks it has completed.
Tick Replay::due_time(const trace::Record& record, const Timeline& timeline) const {
  if (record.cycles <= max_cycles_) {
    const Tick span = options_.clock * record.cycles;
    const Tick due = record.absolute ? span : max(timeline.last_entry + span, timeline.unblocked);
    if (due <= latest) return due;
  }
  throw InputError(reader_->place(record.line) + "found a time " + std::to_string(record.cycles) +
                   " cycles of " + std::to_string(options_.clock.ps()) +
                   " ps away, expected the trace to end within 106 days");
}

}  // namespace nearfar::sim
