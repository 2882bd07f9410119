#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/record.h"

namespace nearfar::trace {

/// Reads a trace that arrives in pieces, cut anywhere, whatever its format. Memory does not
/// grow with the length of the trace. After an InputError a reader is of no further use.
class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}
  virtual ~Reader() = default;

  /// Appends the records that are complete with `chunk` to `out`. Throws InputError
  /// "NAME:LINE: found ..., expected ..." for bytes that are not of the format; the records before
  /// them have been appended.
  virtual void feed(std::string_view chunk, std::vector<Record>& out) = 0;

  /// Ends the trace: appends records that only the end completes. Throws InputError when the trace
  /// holds no record at all, or states itself that there should be more.
  virtual void finish(std::vector<Record>& out) = 0;

  /// The name of the format; empty until the first record at the latest.
  [[nodiscard]] virtual std::string_view format_name() const = 0;

  /// Valid from the first record on.
  [[nodiscard]] virtual Timing timing() const { return {}; }

  /// The beginning of a message about the record with that `Record::line`: "NAME:LINE: ".
  [[nodiscard]] virtual std::string place(std::uint64_t line) const {
    return name_ + ":" + std::to_string(line) + ": ";
  }

  /// The header line of the trace; empty when it has none.
  [[nodiscard]] virtual std::string header() const { return {}; }

  /// The name of the trace in messages.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// A reader of the format of that name, "auto" for one that tells it by the first bytes.
/// `name` is what messages call the trace. `base` is that of a text's addresses without 0x: 10, 16,
/// or 0 for the format's own. Throws InputError for a name that is no format's, and for a base
/// where the trace is not text.
[[nodiscard]] std::unique_ptr<Reader> make_reader(std::string name, std::string_view format,
                                                  unsigned base = 0);

/// `text` fit for a one-line message: in quotes, cut to a readable length, other bytes than
/// printable ASCII as \xNN.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace nearfar::trace
