#pragma once

#include <span>

#include "tier/os/system.h"

namespace nearfar::tier::os {

inline constexpr int most_nodes = 1024;

/// Pages that the calling thread fills, where the program has not said otherwise (mbind), come from
/// this node if it has any. -errno on failure.
long prefer_node(int node) noexcept;

/// The node of each page; below 0 where there is none, or the kernel does not tell.
void find_nodes(std::span<const Place> pages, std::span<int> nodes) noexcept;

}  // namespace nearfar::tier::os
