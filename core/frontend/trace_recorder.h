#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/tick.h"
#include "trace/packed.h"

namespace nearfar::frontend {

/// What a trace's gaps are.
enum class Gaps : std::uint8_t {
  time,          ///< when memory was asked, from the beginning of the program
  instructions,  ///< that the thread executed since its last record
};

/// Writes down what reaches memory, in nearfar's own format.
///
/// Hands the bytes over in pieces of whole records; the trace is all of them and an end record,
/// which is the taker's to write, because only he knows after which piece nothing came any more.
class TraceRecorder {
 public:
  /// Is given a piece, and how many records there are up to its end.
  using Take = std::function<void(std::string_view piece, std::uint64_t records)>;

  /// `header` describes the program; its timing follows from `gaps` and `period`, the time that an
  /// instruction takes at least.
  TraceRecorder(Gaps gaps, Tick period, trace::Header header, Take take);

  /// A line was asked for, or a fence passed, at `at`, when the thread had executed so many
  /// instructions since it began or since restart().
  void add(std::uint16_t thread, trace::Access access, Address line, Tick at,
           std::uint64_t instructions);

  /// The counts of instructions begin at nought again.
  void restart();

  /// Hands over what has not been yet.
  void flush();

 private:
  Gaps gaps_;
  trace::PackedWriter writer_;
  Take take_;
  std::string piece_;
  std::vector<std::uint64_t> counted_;  // instructions of each thread, at its last record
};

}  // namespace nearfar::frontend
