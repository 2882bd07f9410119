#include "trace/converter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace nearfar::trace {

namespace {

constexpr std::size_t enough_bytes = 4 * 1024 * 1024;  // to hand out at once

}  // namespace

Converter::Converter(std::unique_ptr<Reader> reader, Options options)
    : reader_(std::move(reader)),
      options_(std::move(options)),
      to_(find_format(options_.to)),
      window_(options_.window) {
  if (to_ == nullptr) throw InputError("trace format '" + options_.to + "' is not known");
  if (!to_->is_written()) {
    throw InputError("trace format '" + options_.to + "' can be read only; choose another one");
  }
}

void Converter::feed(std::string_view chunk, std::string& out) {
  constexpr std::size_t piece_bytes = 64 * 1024;  // bounds the memory that its records take
  unread_ += chunk;
  while (has_more() && out.size() < enough_bytes) {
    if (next_ == read_.size()) {
      const std::size_t bytes = std::min(piece_bytes, unread_.size());
      reader_->feed(std::string_view(unread_).substr(0, bytes), read_);
      unread_.erase(0, bytes);
    }
    write_some(out);
  }
}

void Converter::finish(std::string& out) {
  if (!done_) {
    reader_->finish(read_);
    while (has_more()) {
      write_some(out);
    }
  }
  if (records_ == 0) {
    throw InputError(reader_->name() +
                     ": found nothing in the part that was asked for, expected "
                     "a longer trace");
  }
  writer_->finish(out);
}

/// Writes records until all are written, or `out` is long.
void Converter::write_some(std::string& out) {
  const std::size_t limit = out.size() + enough_bytes;
  while (next_ < read_.size() && out.size() < limit) {
    Record& record = read_[next_++];
    const Part part = window_.place(record, reader_->timing().counts);
    if (part == Part::beyond) {
      done_ = true;
      return;
    }
    if (part != Part::counted) continue;
    if (writer_ == nullptr) begin();
    if (to_->complete) {
      put(record, out);
    } else {
      write_simply(record, out);
    }
  }
  if (next_ < read_.size()) return;
  read_.clear();
  next_ = 0;
}

/// With the first record the times of the trace are known, and whether they can be written.
void Converter::begin() {
  timing_ = reader_->timing();
  const bool says = timing_.clock_ps != 0;
  if (!says) timing_.clock_ps = options_.clock_ps;
  const bool has_clock = to_->clock != Clock::never;
  const bool has_times = to_->timed;
  const bool rescales = says && timing_.counts == Counts::cycles && has_times && !has_clock;
  if (options_.clock_ps != 0 && !rescales && (says || !has_clock)) {
    throw InputError(reader_->name() + ": found a clock of " + std::to_string(options_.clock_ps) +
                     " ps, expected none: from " + std::string(reader_->format_name()) + " to " +
                     options_.to + " no time needs it");
  }
  if (rescales) {
    if (options_.clock_ps == 0) refuse_clock("cycles of known length in this trace of");
    to_clock_ps_ = options_.clock_ps;
  }
  writer_ = make_writer();
}

std::unique_ptr<Writer> Converter::make_writer() const {
  if (to_->is_text()) return std::make_unique<TextWriter>(*to_);
  if (to_->clock == Clock::always && timing_.clock_ps == 0) {
    refuse_clock("no length of a cycle in traces of");
  }
  return to_->create(own_header());
}

void Converter::refuse_clock(const std::string& found) const {
  throw InputError(reader_->name() + ": found " + found + " " +
                   std::string(reader_->format_name()) + ", expected a clock for the times of " +
                   options_.to + ": --clock 2666MT/s, for example");
}

Header Converter::own_header() const {
  Header header{
      .timing = timing_, .target = {}, .command = options_.command, .creator = options_.creator};
  if (const std::string line = reader_->header(); !line.empty()) {
    const Header before = parse_header(line);
    header.target = before.target;
    header.command = before.command;
    header.memory_bytes = before.memory_bytes;
  }
  return header;
}

/// As a read or a write, which every format has.
void Converter::write_simply(Record record, std::string& out) {
  const bool flush = record.access == Access::flush;
  if (is_fence(record.access) || (flush && timing_.kind == Kind::program)) {
    ++left_out_;
    if (!record.absolute) pending_ += record.cycles;
    return;
  }
  if (flush || record.access == Access::nt_write) record.access = Access::write;
  if (!record.absolute) record.cycles += std::exchange(pending_, 0);
  record.cycles = rescaled(record.cycles, record.absolute);
  if (to_->sized) {
    put(record, out);
  } else {
    write_lines(record, out);
  }
}

void Converter::write_lines(const Record& record, std::string& out) {
  const Address first = record.address.aligned_down(line_bytes);
  const std::uint64_t lines = (record.address - first + record.size - 1) / line_bytes + 1;
  Record line = record;
  line.size = 1;
  for (std::uint64_t i = 0; i < lines; ++i) {
    put(line, out);
    line.address = first + (i + 1) * line_bytes;
    if (!line.absolute) line.cycles = 0;
  }
}

void Converter::put(const Record& record, std::string& out) {
  try {
    writer_->put(record, out);
  } catch (const InputError& error) {
    throw InputError(reader_->name() + ": " + error.what());
  }
  ++records_;
}

/// Converts cycles of the trace read to cycles of the trace written. Relative times do not drift:
/// the remainder of one is added to the next.
std::uint64_t Converter::rescaled(std::uint64_t cycles, bool absolute) {
  if (to_clock_ps_ == 0) return cycles;
  using Wide = unsigned __int128;
  const Wide span = static_cast<Wide>(cycles) * timing_.clock_ps;
  if (absolute) return static_cast<std::uint64_t>(span / to_clock_ps_);
  read_ps_ += span;
  const std::uint64_t before = written_;
  written_ = static_cast<std::uint64_t>(read_ps_ / to_clock_ps_);
  return written_ - before;
}

}  // namespace nearfar::trace
