#include "tier/os/numa.h"

#include <algorithm>
#include <array>

namespace nearfar::tier::os {

long prefer_node(int node) noexcept {
  constexpr long preferred = 1;  // MPOL_PREFERRED: from another where this one has no page
  constexpr int bits = 64;
  if (node < 0 || node >= most_nodes) return -EINVAL;
  std::array<unsigned long, most_nodes / bits> mask{};
  mask[static_cast<std::size_t>(node / bits)] = 1UL << static_cast<unsigned>(node % bits);
  return call(__NR_set_mempolicy, preferred, word(mask.data()), most_nodes + 1);
}

void find_nodes(std::span<const Place> pages, std::span<int> nodes) noexcept {
  std::ranges::fill(nodes, -1);
  call(__NR_move_pages, 0, word(pages.size()), word(pages.data()), 0, word(nodes.data()), 0);
}

}  // namespace nearfar::tier::os
