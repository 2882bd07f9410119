#pragma once

#include <cstdint>

#include "trace/record.h"

namespace nearfar::trace {

/// Which part of a trace is wanted: in instructions of all threads where the trace counts them,
/// else in records.
struct Window {
  std::uint64_t skip = 0;  ///< not looked at
  std::uint64_t warm = 0;  ///< played, but not counted
  std::uint64_t run = 0;   ///< counted; 0: all that is left
};

enum class Part : std::uint8_t { skipped, warming, counted, beyond };

/// Follows a trace record by record and finds the part of the window that each lies in.
class Windowing {
 public:
  explicit Windowing(const Window& window)
      : window_(window),
        counted_from_(sum(window.skip, window.warm)),
        end_(window.run == 0 ? ~std::uint64_t{0} : sum(counted_from_, window.run)) {}

  /// The part that the next record of the trace lies in. Absolute times are made to count from
  /// the last record that was skipped.
  Part place(Record& record, Counts counts) {
    position_ = sum(position_, counts == Counts::instructions ? record.cycles : 1);
    // An access before the first instruction is at 0, and in the first part that there is.
    if (window_.skip != 0 && position_ <= window_.skip) {
      if (record.absolute) start_ = record.cycles;
      return Part::skipped;
    }
    if (record.absolute) record.cycles -= record.cycles < start_ ? record.cycles : start_;
    if (position_ > end_) return Part::beyond;
    return window_.warm != 0 && position_ <= counted_from_ ? Part::warming : Part::counted;
  }

  /// How far the trace has been followed.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  static constexpr std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    return a + b < a ? ~std::uint64_t{0} : a + b;
  }

  Window window_;
  std::uint64_t counted_from_;
  std::uint64_t end_;
  std::uint64_t position_ = 0;
  std::uint64_t start_ = 0;
};

}  // namespace nearfar::trace
