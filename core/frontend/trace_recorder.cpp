#include "frontend/trace_recorder.h"

#include <utility>

namespace nearfar::frontend {
namespace {

trace::Header timed(trace::Header header, Gaps gaps, Tick period) {
  header.timing = {.kind = trace::Kind::memory};
  if (gaps == Gaps::time) {
    header.timing.absolute = true;
    header.timing.clock_ps = 1;
  } else {
    header.timing.counts = trace::Counts::instructions;
    header.timing.clock_ps = period.ps();
  }
  return header;
}

}  // namespace

TraceRecorder::TraceRecorder(Gaps gaps, Tick period, trace::Header header, Take take)
    : gaps_(gaps), writer_(timed(std::move(header), gaps, period)), take_(std::move(take)) {}

void TraceRecorder::add(std::uint16_t thread, trace::Access access, Address line, Tick at,
                        std::uint64_t instructions) {
  trace::Record record{.thread = thread, .access = access};
  if (!trace::is_fence(access)) {
    record.address = line;
    record.size = line_bytes;
  }
  if (gaps_ == Gaps::time) {
    record.absolute = true;
    record.cycles = at.ps();
  } else {
    if (thread >= counted_.size()) counted_.resize(thread + std::size_t{1});
    record.cycles = instructions - std::exchange(counted_[thread], instructions);
  }
  writer_.put(record, piece_);
  if (piece_.size() >= trace::PackedWriter::frame_bytes) flush();
}

void TraceRecorder::restart() { counted_.clear(); }

void TraceRecorder::flush() {
  if (piece_.empty()) return;
  take_(piece_, writer_.count());
  piece_.clear();
}

}  // namespace nearfar::frontend
