#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/record.h"

namespace nearfar::trace {

/// Where the pages of a recorded program lay, in the words of `nearfar run`.
struct Layout {
  std::string place{};  ///< empty: not known
  std::string pages{};
  std::uint64_t near_bytes = 0;  ///< 0: all of near memory

  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The first line of a trace in nearfar's own format: `nearfar-trace VERSION {JSON}`. Version 1 has
/// accesses of memory or of a program (trace/packed.h), version 2 what a program executed
/// (frontend/program_trace.h).
struct Header {
  unsigned version = 1;
  Timing timing{.clock_ps = 1};
  std::string target{};  ///< the model it was recorded on; empty when there was none
  std::string command{};  ///< the program that was recorded, or the trace this was made from
  std::string creator{};  ///< name and version of what wrote it
  /// Of the whole machine that was recorded; 0 where it was no whole machine.
  std::uint64_t memory_bytes = 0;
  Layout layout{};  ///< of version 2

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
