#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "tier/tree/control.h"

namespace nearfar::tier {

/// The first part of what the processes of a tree share, as the launcher makes it: all zeros, with
/// what lies at fixed places behind Control.
struct TreeMemory {
  alignas(Control) std::byte bytes[Control::bytes]{};
};

struct FreeTreeMemory {
  void operator()(Control* control) const { delete reinterpret_cast<TreeMemory*>(control); }
};

inline std::unique_ptr<Control, FreeTreeMemory> tree_memory() {
  return std::unique_ptr<Control, FreeTreeMemory>(reinterpret_cast<Control*>(new TreeMemory));
}

}  // namespace nearfar::tier
