#pragma once

#include <fstream>
#include <string>

#include "base/tick.h"
#include "sim/request.h"

namespace nearfar::library {

/// The trace of a host: every request when it was accepted, as `nearfar replay TRACE --format
/// dramsim3 --clock 1ps` plays it again.
class Recorder {
 public:
  /// Throws InputError when the file cannot be written.
  explicit Recorder(const std::string& path);

  void accepted(const sim::Request& request, Tick now);
  void flush() { file_.flush(); }

 private:
  std::ofstream file_;
};

}  // namespace nearfar::library
