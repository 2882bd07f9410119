#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"
#include "trace/reader.h"

namespace nearfar::trace {

/// Reads a text trace.
///
/// A byte-order mark at the start, blank lines and lines that start with '#' are skipped; a line
/// may end in "\r\n". A bad line throws InputError "NAME:LINE: found '...', expected ...", after
/// which the parser is of no further use. So does a line that can be read in more than one way,
/// when neither the format nor the base says which. Memory is bounded by the longest allowed line.
class Parser final : public Reader {
 public:
  /// `name` is what messages call the trace. Without a format the first line tells it, and where
  /// several formats have such lines, the ending of `name`. `base` is as in make_reader().
  explicit Parser(std::string name, const Format* format = nullptr, unsigned base = 0)
      : Reader(std::move(name)),
        format_(format),
        state_{.base = base},
        base_known_(format != nullptr || base != 0) {}

  /// Appends the accesses of every line that ends in `chunk` to `out`.
  void feed(std::string_view chunk, std::vector<Record>& out) override;

  /// The end of the trace: appends the accesses of a last line without a newline.
  /// Throws InputError when the trace held no access at all.
  void finish(std::vector<Record>& out) override;

  /// The format given or found; nullptr before the first line.
  [[nodiscard]] const Format* format() const { return format_; }

  [[nodiscard]] std::string_view format_name() const override {
    return format_ == nullptr ? std::string_view() : format_->name;
  }
  [[nodiscard]] Timing timing() const override {
    return format_ == nullptr ? Timing{} : format_->timing;
  }

  /// Longer lines are not a text trace: the longest useful one is a store of
  /// max_access_bytes with its data.
  static constexpr std::size_t max_line_bytes = 32 * 1024;

 private:
  [[nodiscard]] std::string_view after_plain(std::string_view chunk, std::vector<Record>& out);
  void read_line(std::string_view line, std::vector<Record>& out);
  void detect(std::string_view line);
  void check_base(std::string_view line);
  [[noreturn]] void refuse(std::string_view line, std::string_view expected) const;

  const Format* format_;
  ReadState state_;
  bool base_known_;
  std::string partial_;  // a line whose end has not arrived
  bool any_ = false;
};

}  // namespace nearfar::trace
