#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "policy/oracle/oracle.h"
#include "policy/placement/placement.h"
#include "policy/registry.h"
#include "policy/replacement/replacement.h"

namespace nearfar::policy {

/// The policies of a family by their names, for a near memory of `near_pages` pages. Throws
/// InputError for a name that the family does not have, and for a near memory of 0 pages.
[[nodiscard]] Replacement& make_replacement(std::string_view name, PolicyStorage& at,
                                            PageIndex near_pages);
[[nodiscard]] Placement& make_placement(std::string_view name, PolicyStorage& at,
                                        PageIndex near_pages);
/// By its name with the prefix "oracle:" or without.
[[nodiscard]] std::unique_ptr<Oracle> make_oracle(std::string_view name,
                                                  const OracleLimits& limits);

/// A policy with memory of its own, which grows.
template <typename Policy, auto make>
class Owned {
 public:
  /// Throws as `make` does.
  Owned(std::string_view name, PageIndex near_pages)
      : policy_(&make(name, *storage_, near_pages)) {}
  /// One that the caller has made, and that must outlive this.
  explicit Owned(Policy& policy) : policy_(&policy) {}

  /// Makes room for the records of the pages below `pages`; none beyond may be named to it.
  void reserve(PageIndex pages) {
    const std::size_t words = pages * policy_->bytes_per_page() / sizeof records_[0];
    if (words <= records_.size()) return;
    // Half as much again, as pages are mostly named one after the other.
    records_.resize(words + words / 2);
    policy_->keep_in(records_.data());
  }

  [[nodiscard]] Policy& operator*() const { return *policy_; }
  [[nodiscard]] Policy* operator->() const { return policy_; }

 private:
  std::unique_ptr<PolicyStorage> storage_ = std::make_unique<PolicyStorage>();
  Policy* policy_;
  std::vector<std::uint32_t> records_;
};

using OwnedReplacement = Owned<Replacement, &make_replacement>;
using OwnedPlacement = Owned<Placement, &make_placement>;

}  // namespace nearfar::policy
