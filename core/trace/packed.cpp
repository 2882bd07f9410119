#include "trace/packed.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "trace/format.h"
#include "trace/varint.h"

namespace nearfar::trace {
namespace {

constexpr std::uint8_t operation_mask = 7;
constexpr std::uint8_t control_code = 6;
constexpr std::uint8_t blocking_read = 7;
constexpr std::uint8_t whole_line = 8;
constexpr unsigned gap_shift = 4;
constexpr std::uint64_t gap_follows = 15;

/// Whole lines of the operations below 4, which is what a recording is made of, by these bits.
constexpr std::uint8_t plain_line_mask = whole_line | 4;

constexpr std::uint64_t switch_thread = 0;
constexpr std::uint64_t end_of_trace = 1;

/// A tag, a gap, a size and an address.
constexpr std::size_t max_record_bytes = 1 + 3 * max_varint_bytes;

constexpr unsigned line_shift = 6;
static_assert(line_bytes == Bytes{1} << line_shift);

/// Whether a record begins at `at` and ends before `end`. For the last bytes of a piece only.
bool complete(const char* at, const char* end) {
  const auto tag = static_cast<std::uint8_t>(*at++);
  const unsigned operation = tag & operation_mask;
  int numbers = 1;
  if (operation != control_code) {
    const bool fence = operation == static_cast<unsigned>(Access::store_fence) ||
                       operation == static_cast<unsigned>(Access::full_fence);
    numbers = fence ? 0 : (tag & whole_line) != 0 ? 1 : 2;
    if (tag >> gap_shift == gap_follows) ++numbers;
  }
  for (; numbers > 0; --numbers) {
    const char* const number = at;
    do {
      // Longer than a number can be: decoding says so.
      if (at - number == static_cast<std::ptrdiff_t>(max_varint_bytes)) return true;
      if (at == end) return false;
    } while (static_cast<unsigned char>(*at++) >= 0x80);
  }
  return true;
}

}  // namespace

void PackedWriter::begin(std::string& out) {
  if (begun_) return;
  out += header_line(header_);
  begun_ = true;
}

void PackedWriter::put(const Record& record, std::string& out) {
  const bool absolute = header_.timing.absolute;
  const bool fence = is_fence(record.access);
  if (record.absolute != absolute || (record.blocks && record.access != Access::read)) {
    refuse_record(record,
                  record.blocks ? "a write"
                  : absolute    ? "absolute"
                                : "relative",
                  "nearfar");
  }
  begin(out);
  if (record.thread != thread_) {
    thread_ = record.thread;
    if (thread_ >= threads_.size()) threads_.resize(thread_ + std::size_t{1});
    out += static_cast<char>(control_code | switch_thread << gap_shift);
    append_varint(out, thread_);
  }

  const std::uint64_t gap = record.cycles - (absolute ? time_ : 0);
  if (absolute) time_ = record.cycles;
  const std::uint64_t address = record.address.value();
  const bool whole = !fence && record.size == line_bytes && address % line_bytes == 0;
  std::uint64_t tag = record.blocks ? blocking_read : static_cast<std::uint64_t>(record.access);
  if (whole) tag |= whole_line;
  tag |= std::min(gap, gap_follows) << gap_shift;
  out += static_cast<char>(tag);
  if (gap >= gap_follows) append_varint(out, absolute ? zigzag(gap) : gap);
  ++count_;
  if (fence) return;

  std::uint64_t& last = threads_[thread_];
  if (whole) {
    append_varint(out, zigzag((address >> line_shift) - (last >> line_shift)));
  } else {
    append_varint(out, record.size);
    append_varint(out, zigzag(address - last));
  }
  last = address;
}

void PackedWriter::finish(std::string& out) {
  begin(out);
  out += static_cast<char>(control_code | end_of_trace << gap_shift);
  append_varint(out, count_);
}

std::string_view PackedReader::format_name() const { return "nearfar"; }

std::string PackedReader::place(std::uint64_t line) const {
  return name() + ": record " + std::to_string(line) + ": ";
}

void PackedReader::refuse(const std::string& found, const std::string& expected) const {
  throw InputError(place(place_.count + 1) + "found " + found + ", expected " + expected);
}

void PackedReader::feed(std::string_view chunk, std::vector<Record>& out) {
  const char* at = chunk.data();
  const char* end = at + chunk.size();
  if (in_header_) at = read_header(at, end);
  // The last bytes of a piece wait for the next one; no record needs more than a few of those.
  while (!partial_.empty() && at != end) {
    partial_ += *at++;
    if (!complete(partial_.data(), partial_.data() + partial_.size())) continue;
    partial_.append(max_record_bytes, '\0');
    decode_run(partial_.data(), partial_.data() + 1, out);
    partial_.clear();
  }

  constexpr auto enough = static_cast<std::ptrdiff_t>(max_record_bytes);
  if (end - at >= enough) at = decode_run(at, end - enough + 1, out);
  if (at == end) return;
  std::string tail(at, end);
  const std::size_t bytes = tail.size();
  tail.append(max_record_bytes, '\0');
  at = tail.data();
  end = at + bytes;
  while (at != end && complete(at, end)) at = decode_run(at, at + 1, out);
  partial_.assign(at, end);
}

const char* PackedReader::read_header(const char* at, const char* end) {
  const char* const newline = std::find(at, end, '\n');
  line_.append(at, newline);
  if (newline != end || line_.size() >= packed_magic.size()) check_magic();
  if (line_.size() >= max_header_bytes) {
    throw InputError(name() + ": found a header without an end, expected one of at most " +
                     std::to_string(max_header_bytes) + " bytes");
  }
  if (newline == end) return end;
  try {
    header_ = parse_header(line_);
  } catch (const InputError& error) {
    throw InputError(name() + ": " + error.what());
  }
  if (header_.version != 1) {
    throw InputError(name() +
                     ": found a program's instructions (version 2), expected accesses of memory; "
                     "`nearfar replay TARGET " +
                     name() + "` plays it");
  }
  in_header_ = false;
  return newline + 1;
}

/// Quotes no more than it looks at, so that the message is the same however the trace is cut.
void PackedReader::check_magic() const {
  const std::string_view start = std::string_view(line_).substr(0, packed_magic.size());
  if (packed_magic.starts_with(start)) return;
  throw InputError(name() + ": found " + quoted(start) +
                   ", expected a header 'nearfar-trace 1 {...}'");
}

/// The time of a record, or the gap before it, of which `gap` holds what the tag says.
inline bool PackedReader::read_gap(Place& place, bool absolute, std::uint64_t& gap) {
  if (gap == gap_follows) {
    if (!read_varint(place.at, gap)) return false;
    if (absolute) gap = unzigzag(gap);
  }
  if (absolute) gap = place.time += gap;
  return true;
}

/// Decodes an access or a fence, whose tag has been read; behind it there are max_record_bytes, if
/// only of padding. False when the bytes are none.
inline bool PackedReader::decode(Place& place, std::uint8_t tag, bool absolute, Record& record) {
  const unsigned operation = tag & operation_mask;
  const bool blocks = operation == blocking_read;
  const auto access = blocks ? Access::read : static_cast<Access>(operation);
  std::uint64_t gap = tag >> gap_shift;
  if (!read_gap(place, absolute, gap)) return false;

  std::uint64_t difference = 0;
  std::uint64_t size = 1;
  std::uint64_t address = 0;
  if ((tag & whole_line) != 0) {
    if (is_fence(access) || !read_varint(place.at, difference)) return false;
    size = line_bytes;
    address = place.last = ((place.last >> line_shift) + unzigzag(difference)) << line_shift;
  } else if (!is_fence(access)) {
    if (!read_varint(place.at, size) || size - 1 >= max_access_bytes) return false;
    if (!read_varint(place.at, difference)) return false;
    address = place.last += unzigzag(difference);
  }
  record = {.address = Address(address),
            .cycles = gap,
            .line = ++place.count,
            .size = static_cast<std::uint32_t>(size),
            .thread = place.thread,
            .access = access,
            .absolute = absolute,
            .blocks = blocks};
  return true;
}

/// Goes on with another thread, if that is what the record at `place` says and it is one whose
/// last address has a place in the table.
inline bool PackedReader::switched(Place& place) {
  std::uint64_t thread = 0;
  const char* at = place.at + 1;
  if (static_cast<std::uint8_t>(*place.at) != control_code || !read_varint(at, thread) ||
      thread >= threads_.size()) {
    return false;
  }
  threads_[place.thread] = place.last;
  place.thread = static_cast<std::uint16_t>(thread);
  place.last = threads_[thread];
  place.at = at;
  return true;
}

/// Decodes the records that begin before `last`. This is what reading a trace costs: a few tens of
/// instructions a record, because it is done in registers and on an array that stays in the cache.
const char* PackedReader::decode_run(const char* at, const char* last, std::vector<Record>& out) {
  std::array<Record, 64> records;
  const bool absolute = header_.timing.absolute;
  const Record line{.size = line_bytes, .absolute = absolute};
  while (at < last) {
    if (ended_) refuse("data after the end", "nothing");
    std::size_t count = 0;
    bool good = true;
    bool plain = true;
    Place place = place_;
    place.at = at;
    while (place.at < last && count < records.size()) {
      const auto tag = static_cast<std::uint8_t>(*place.at);
      if ((tag & plain_line_mask) == whole_line) [[likely]] {
        ++place.at;
        std::uint64_t gap = tag >> gap_shift;
        std::uint64_t difference = 0;
        good = read_gap(place, absolute, gap) && read_varint(place.at, difference);
        if (!good) break;
        place.last = ((place.last >> line_shift) + unzigzag(difference)) << line_shift;
        Record& record = records[count++] = line;
        record.address = Address(place.last);
        record.cycles = gap;
        record.line = ++place.count;
        record.thread = place.thread;
        record.access = static_cast<Access>(tag & 3);
        continue;
      }
      if ((tag & operation_mask) == control_code) {
        if (switched(place)) continue;
        plain = false;
        break;
      }
      ++place.at;
      good = decode(place, tag, absolute, records[count]);
      if (!good) break;
      ++count;
    }
    out.insert(out.end(), records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count));
    place_ = place;
    if (!good) refuse("bytes that are no record", "one of version 1; the trace is damaged");
    at = plain ? place.at : control(place.at);
  }
  return at;
}

/// Decodes a record that says how to read those that follow.
const char* PackedReader::control(const char* at) {
  const auto tag = static_cast<std::uint8_t>(*at++);
  const std::uint64_t code = tag >> gap_shift;
  if (code > end_of_trace || (tag & whole_line) != 0) {
    refuse("a tag " + std::to_string(tag), "one of version 1; the trace is damaged");
  }
  std::uint64_t number = 0;
  const bool whole = read_varint(at, number);
  if (code == end_of_trace) {
    if (!whole || number != place_.count) {
      refuse("an end after " + std::to_string(place_.count) + " records",
             "it after " + std::to_string(number) + "; the trace is damaged");
    }
    ended_ = true;
    return at;
  }
  if (!whole || number > 0xffff) refuse("thread " + std::to_string(number), "one below 65536");
  threads_[place_.thread] = place_.last;
  place_.thread = static_cast<std::uint16_t>(number);
  if (number >= threads_.size()) threads_.resize(number + 1);
  place_.last = threads_[number];
  return at;
}

void PackedReader::finish(std::vector<Record>&) {
  if (in_header_) check_magic();
  if (ended_ && !partial_.empty()) refuse("data after the end", "nothing");
  if (!ended_) {
    throw InputError(
        name() + ": found the end of the file " +
        (in_header_ ? "in the header" : "after " + std::to_string(place_.count) + " records") +
        ", expected the record of the trace's end: it was cut off; `nearfar trace info` counts "
        "what can be read");
  }
  if (place_.count == 0) throw InputError(name() + ": found no access in it, expected records");
}

extern constexpr Format packed = {
    .name = "nearfar",
    .syntax = "a header 'nearfar-trace 1 {...}' and records",
    .magic = packed_magic,
    .complete = true,
    .clock = Clock::optional,
    .open = [](std::string name) -> std::unique_ptr<Reader> {
      return std::make_unique<PackedReader>(std::move(name));
    },
    .create = [](const Header& header) -> std::unique_ptr<Writer> {
      return std::make_unique<PackedWriter>(header);
    },
};

}  // namespace nearfar::trace
