#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/record.h"

namespace nearfar::trace {

/// The first line of a trace in nearfar's own format: `nearfar-trace 1 {JSON}`.
struct Header {
  Timing timing{.clock_ps = 1};
  std::string target{};   ///< the model it was recorded on; empty when there was none
  std::string command{};  ///< the program that was recorded, or the trace this was made from
  std::string creator{};  ///< name and version of what wrote it
  /// Of the whole machine that was recorded; 0 where it was no whole machine.
  std::uint64_t memory_bytes = 0;

  friend bool operator==(const Header&, const Header&) = default;
};

inline constexpr std::string_view packed_magic = "nearfar-trace ";

/// The longest header line, its newline included.
inline constexpr std::size_t max_header_bytes = 64 * 1024;

/// The whole line, with its newline.
[[nodiscard]] std::string header_line(const Header& header);

/// Reads the line, without its newline. Throws InputError "found ..., expected ..." for another
/// version or format, and for a value that this version does not know.
[[nodiscard]] Header parse_header(std::string_view line);

}  // namespace nearfar::trace
