#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace nearfar::policy {

/// The memory of a policy, except its records of pages: it allocates nothing itself.
struct PolicyStorage {
  alignas(8) std::array<std::byte, 24576> bytes;
};

/// For a policy's own file: makes it.
template <typename Policy, typename... Arguments>
[[nodiscard]] Policy& make_at(PolicyStorage& at, Arguments... arguments) {
  static_assert(sizeof(Policy) <= sizeof(PolicyStorage));
  static_assert(alignof(Policy) <= alignof(PolicyStorage));
  static_assert(std::is_trivially_destructible_v<Policy>, "a policy owns nothing");
  return *std::construct_at(reinterpret_cast<Policy*>(at.bytes.data()), arguments...);
}

}  // namespace nearfar::policy
