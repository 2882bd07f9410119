#pragma once

#include <array>
#include <cstddef>

#include "tier/os/system.h"

namespace nearfar::tier::preload {

/// The six words that a system call is given.
using Words = std::array<long, 6>;

/// Takes note of the program's memory that a system call is given.
class BufferSink {
 public:
  /// Whether memory there may be far. What cannot be need not be added.
  [[nodiscard]] virtual bool may_be_far(os::Place at) const = 0;
  virtual void add(os::Place at, std::size_t bytes) = 0;
  /// Makes memory near that is looked at to find more. Returns false if the program may not read
  /// it.
  [[nodiscard]] virtual bool make_readable(os::Place at, std::size_t bytes) = 0;

 protected:
  ~BufferSink() = default;
};

/// Adds what a call is given: what the pointers among its arguments point to, and the pointers
/// there. Of a call that is not listed, a page's length behind each argument that is an address
/// which may be far.
void find_buffers(long number, const Words& words, BufferSink& sink);

}  // namespace nearfar::tier::preload
