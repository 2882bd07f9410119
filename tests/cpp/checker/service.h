#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limits.h"
#include "trace.h"

namespace nearfar::checker {

/// One 64-byte line asked of a channel, and when it was answered.
struct Served {
  std::uint64_t line = 0;
  bool write = false;
  std::uint64_t sent_ps = 0;
  std::uint64_t done_ps = 0;
};

/// Holds requests against the commands that were to serve them: is it the right row and
/// column that is accessed, once, in time, and does a read find what was written?
///
/// `mapping` lists the address fields from most to least significant, `requests` are in
/// the order they were sent. Returns what is wrong, one line each, at most twenty.
[[nodiscard]] std::vector<std::string> check_service(const Trace& trace, const Limits& limits,
                                                     const std::string& mapping,
                                                     const std::vector<Served>& requests);

}  // namespace nearfar::checker
