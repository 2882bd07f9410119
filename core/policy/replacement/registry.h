#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "policy/replacement/replacement.h"

namespace nearfar::policy {

/// Where a policy is made, but for what it keeps of pages: it allocates nothing itself.
struct ReplacementStorage {
  alignas(8) std::array<std::byte, 24576> bytes;
};

using MakeReplacement = Replacement& (*)(ReplacementStorage & at, PageIndex capacity);

/// A policy by name; `make` is for a near memory of `capacity` pages, at least 1.
struct ReplacementEntry {
  std::string_view name;
  MakeReplacement make;
};

/// All policies. The position of one is how the launcher of a program names it.
[[nodiscard]] std::span<const ReplacementEntry> replacements();

/// The position of the one that programs on two tiers use unless told otherwise.
[[nodiscard]] std::uint32_t default_replacement();

/// For a policy's own file: makes it.
template <typename Policy, typename... Arguments>
[[nodiscard]] Replacement& make_at(ReplacementStorage& at, Arguments... arguments) {
  static_assert(sizeof(Policy) <= sizeof(ReplacementStorage));
  static_assert(alignof(Policy) <= alignof(ReplacementStorage));
  static_assert(std::is_trivially_destructible_v<Policy>, "a policy owns nothing");
  return *std::construct_at(reinterpret_cast<Policy*>(at.bytes.data()), arguments...);
}

// One file each; the list with their names is in registry.cpp.
[[nodiscard]] Replacement& make_fifo_replacement(ReplacementStorage& at, PageIndex capacity);
[[nodiscard]] Replacement& make_clock(ReplacementStorage& at, PageIndex capacity);
[[nodiscard]] Replacement& make_lru_approx(ReplacementStorage& at, PageIndex capacity);
[[nodiscard]] Replacement& make_two_q(ReplacementStorage& at, PageIndex capacity);
[[nodiscard]] Replacement& make_s3_fifo(ReplacementStorage& at, PageIndex capacity);
[[nodiscard]] Replacement& make_raminate(ReplacementStorage& at, PageIndex capacity);
[[nodiscard]] Replacement& make_regret(ReplacementStorage& at, PageIndex capacity);

}  // namespace nearfar::policy
