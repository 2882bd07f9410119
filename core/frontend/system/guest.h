#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "base/settings.h"
#include "frontend/qemu/trace_socket.h"
#include "frontend/system/line_filter.h"
#include "frontend/system/memory_map.h"
#include "frontend/trace_recorder.h"

namespace nearfar::frontend::system {

/// A whole machine that QEMU runs: writes down what of its memory passes the caches, with the
/// instructions that each processor has executed as its clock.
///
/// Devices' own accesses, page walks and fetches of instructions are not seen: the plug-in
/// interface does not tell them.
class Guest {
 public:
  /// `folder` is that of the run, with the file `options`, and, where a region alone is recorded,
  /// the file `region`, whose first byte is '1' while it lasts. Throws InputError and
  /// std::runtime_error for files that cannot be used.
  Guest(const std::string& folder, std::size_t processors);

  /// A processor is about to execute so many instructions.
  void executes(unsigned processor, std::uint64_t instructions) {
    if (region_ != nullptr) recording_ = region_->load() == '1';
    if (recording_) executed_[processor] += instructions;
  }
  /// It accesses memory there, by physical address, and no device's.
  void access(unsigned processor, Address address, Bytes bytes, bool write) {
    if (!recording_ || !memory_.has(address)) return;
    const auto number = static_cast<std::uint16_t>(processor);
    const sim::cpu::Line first = address.block(line_bytes);
    const sim::cpu::Line last = (address + (bytes - 1)).block(line_bytes);
    for (sim::cpu::Line line = first; line <= last; ++line) filter_.access(number, line, write);
  }
  /// Nothing is recorded any longer.
  void stop() {
    region_ = nullptr;
    recording_ = false;
  }
  /// The machine stops: all that was recorded is handed over.
  void end();

 private:
  Guest(const std::string& folder, const Settings& settings, std::size_t processors);
  void reached(std::uint16_t processor, sim::cpu::Line line, bool write);

  qemu::TraceSocket socket_;
  MemoryMap memory_;
  TraceRecorder recorder_;
  LineFilter filter_;
  std::deque<std::uint64_t> executed_;  ///< instructions, each by its processor's thread alone
  const std::atomic<char>* region_ = nullptr;  ///< null: everything is recorded
  std::atomic<bool> recording_;
};

}  // namespace nearfar::frontend::system
