#pragma once

#include <cstdint>
#include <optional>

#include "tier/preload/call_buffers.h"

namespace nearfar::tier::preload {

/// An action as the kernel has it.
struct KernelAction {
  os::Place handler;
  std::uint64_t flags;
  os::Place restorer;
  std::uint64_t mask;
};

/// What a system call is given instead of the program's sets of signals: these without the signals
/// by which faults are served.
class SignalArguments {
 public:
  /// Changes the arguments, which then point to here; or the call's answer, if the kernel is not to
  /// be asked.
  [[nodiscard]] std::optional<long> open_to_faults(long number, Words& words);

 private:
  void open_set(long& word);
  [[nodiscard]] std::optional<long> change_action(Words& words);

  std::uint64_t set_ = 0;
  KernelAction action_{};
  struct {
    long set;
    std::uint64_t bytes;
  } pointed_{};
};

}  // namespace nearfar::tier::preload
