#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"
#include "trace/header.h"
#include "trace/reader.h"
#include "trace/window.h"
#include "trace/writer.h"

namespace nearfar::trace {

/// Turns a trace into one of another format, or into a part of itself.
///
/// Only our own format has all operations. In other formats a non-temporal write becomes a write,
/// and so does a flush in a trace of memory, which memory sees as a write. Fences are left out and
/// counted, and so are flushes in a program's trace, since its stores are in the trace already.
/// Formats without sizes get one access for each line. A record that the other format cannot hold
/// is an InputError.
class Converter {
 public:
  struct Options {
    std::string to{};
    Window window{};  ///< its `warm` counts as skipped
    /// Length of a cycle (or instruction) in the trace, read or written, that does not state it;
    /// 0: cycles keep their numbers.
    std::uint64_t clock_ps = 0;
    std::string command{};  ///< for the header of our own format
    std::string creator{};
  };

  Converter(std::unique_ptr<Reader> reader, Options options);

  /// Appends to `out` what the records that are complete with `chunk` become, or the first few
  /// mebibytes of it: with has_more() there is more, which further calls append.
  void feed(std::string_view chunk, std::string& out);

  /// True when what was fed has not been written yet, as long gaps may take much room.
  [[nodiscard]] bool has_more() const {
    return !done_ && (next_ < read_.size() || !unread_.empty());
  }

  /// True when the end of the window has been reached: the rest need not be fed.
  [[nodiscard]] bool done() const { return done_; }

  /// To be called when there is no more. Throws InputError for a trace that holds nothing in the
  /// window.
  void finish(std::string& out);

  [[nodiscard]] std::string_view from() const { return reader_->format_name(); }
  /// Records written, and records in the window that were left out.
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  void begin();
  [[nodiscard]] std::unique_ptr<Writer> make_writer() const;
  void write_some(std::string& out);
  void write_simply(Record record, std::string& out);
  void write_lines(const Record& record, std::string& out);
  void put(const Record& record, std::string& out);
  [[nodiscard]] std::uint64_t rescaled(std::uint64_t cycles, bool absolute);
  [[nodiscard]] Header own_header() const;
  [[noreturn]] void refuse_clock(const std::string& found) const;

  std::unique_ptr<Reader> reader_;
  Options options_;
  const Format* to_;
  Windowing window_;
  Timing timing_;  // of the trace read
  bool done_ = false;
  std::uint64_t records_ = 0;
  std::uint64_t left_out_ = 0;
  std::string unread_;  // fed, and not read yet
  std::vector<Record> read_;
  std::size_t next_ = 0;  // of them, to be written
  std::unique_ptr<Writer> writer_;  // with the first record, when times are known

  std::uint64_t to_clock_ps_ = 0;  // of a cycle written, if it differs from a cycle read
  std::uint64_t pending_ = 0;  // the gaps of records that were left out
  unsigned __int128 read_ps_ = 0;  // sum of relative times; `written_` cycles stand for it
  std::uint64_t written_ = 0;
};

}  // namespace nearfar::trace
