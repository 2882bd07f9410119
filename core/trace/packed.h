#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/header.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace nearfar::trace {

// nearfar's own format, before compression: the header line, then records, each of a tag byte
// and what the tag announces. Numbers are varints: seven bits a byte, low ones first, the high
// bit set in all bytes but the last; signed ones zigzag (0, -1, 1, -2 are 0, 1, 2, 3).
//
//   bits 0-2   0 read, 1 write, 2 nt_write, 3 flush, 4 store_fence, 5 full_fence,
//              6 control, 7 a read that blocks
//   bit 3      of an access: one whole aligned line of 64 bytes
//   bits 4-7   the gap, if below 15; 15: a varint with the gap follows
//
// A gap is `Record::cycles`; where times are absolute, their change since the record before, and
// a signed varint when it does not fit the tag. What follows then: nothing for a fence; for a
// whole line the signed difference of its number (address / 64) from that of the line of the
// thread's last access; for another access its size, and the signed difference of its address
// from the thread's last address. A thread begins at address 0.
//
// Control, by bits 4-7: 0, the records that follow are those of the thread whose number follows
// (thread 0 begins); 1, the end, with the number of records. Anything else is an error.

/// Writes our own format. The caller compresses: each time the string has grown to `frame_bytes` or
/// more, it makes the string a zstd frame and empties it, so that a recorder that dies loses one
/// frame at most.
class PackedWriter final : public Writer {
 public:
  explicit PackedWriter(Header header) : header_(std::move(header)), threads_(1) {}

  /// Throws InputError for a record whose time is not of the header's kind, and for a write, flush
  /// or NT write that blocks.
  void put(const Record& record, std::string& out) override;
  void finish(std::string& out) override;

  /// Records so far.
  [[nodiscard]] std::uint64_t count() const { return count_; }

  static constexpr std::size_t frame_bytes = 256 * 1024;

 private:
  void begin(std::string& out);

  Header header_;
  bool begun_ = false;
  std::uint64_t count_ = 0;
  std::uint64_t time_ = 0;
  std::uint16_t thread_ = 0;
  std::vector<std::uint64_t> threads_;  // the last address of each
};

/// Reads our own format.
class PackedReader final : public Reader {
 public:
  explicit PackedReader(std::string name) : Reader(std::move(name)) {}

  void feed(std::string_view chunk, std::vector<Record>& out) override;

  /// Throws InputError when the end is missing: the trace was cut off.
  void finish(std::vector<Record>& out) override;

  [[nodiscard]] std::string_view format_name() const override;
  [[nodiscard]] Timing timing() const override { return header_.timing; }
  [[nodiscard]] std::string place(std::uint64_t line) const override;
  [[nodiscard]] std::string header() const override { return line_; }

 private:
  /// State of the reader between two records.
  struct Place {
    const char* at = nullptr;
    std::uint64_t count = 0;  // records so far
    std::uint64_t time = 0;
    std::uint64_t last = 0;  // address of the thread
    std::uint16_t thread = 0;
  };

  static bool read_gap(Place& place, bool absolute, std::uint64_t& gap);
  static bool decode(Place& place, std::uint8_t tag, bool absolute, Record& record);
  bool switched(Place& place);
  const char* decode_run(const char* at, const char* last, std::vector<Record>& out);
  const char* control(const char* at);
  const char* read_header(const char* at, const char* end);
  void check_magic() const;
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const;

  std::string line_;  // the header
  Header header_;
  bool in_header_ = true;
  bool ended_ = false;
  Place place_;
  std::vector<std::uint64_t> threads_{0};  // the last address of each thread but the present one
  std::string partial_;  // a record whose end has not arrived
};

}  // namespace nearfar::trace
