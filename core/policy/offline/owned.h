#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "policy/replacement/registry.h"

namespace nearfar::policy {

/// A policy with memory of its own, which grows.
class OwnedReplacement {
 public:
  /// A policy by its name, for a near memory of `capacity` pages. Throws InputError for a name that
  /// is none, and for a capacity of 0.
  OwnedReplacement(std::string_view name, PageIndex capacity);

  /// Makes room for what is known of the pages below `pages`; none beyond may be named to it.
  void reserve(PageIndex pages);

  [[nodiscard]] Replacement& operator*() { return *policy_; }
  [[nodiscard]] Replacement* operator->() { return policy_; }

 private:
  std::unique_ptr<ReplacementStorage> storage_ = std::make_unique<ReplacementStorage>();
  Replacement* policy_;
  std::vector<std::uint32_t> records_;
};

}  // namespace nearfar::policy
