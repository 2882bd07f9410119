#pragma once

#include <cstddef>
#include <span>

#include "policy/placement/tiered_pages.h"

namespace nearfar::policy {

/// What is known of a page for exchanges of groups. All zeros is a page that is not there.
struct alignas(4) GroupMark {
  bool known : 1 = false;
  bool near : 1 = false;
  bool wanted : 1 = false;  ///< the policy has named it to come near, and not to leave since
  bool taken_along : 1 = false;  ///< it came near beside others, and was not wanted since
  bool named : 1 = false;  ///< by the decision at hand
  bool seen : 1 = false;  ///< by a scan since the last decision
  bool used : 1 = false;  ///< and was found used
};

/// Stands before a policy and makes its exchanges those of groups, of 512 pages side by side.
///
/// * The pages that come near, and those that leave, are put in order: what lies side by side moves
///   at once, and costs less. The same pages move as the policy has named.
/// * Where the policy wants more than half of a group (pages that it names now, or has named before
///   and that are near), the other far pages of it come along, into free room or for near pages
///   that were found idle since the last decision and lie in the same group as one that the policy
///   demotes. A page comes along once, until the policy wants it.
///
/// No more pairs change places than the caller has room for; those of the policy come first.
class GroupedPlacement final : public TieredPages<GroupMark> {
 public:
  static constexpr PageIndex group = 512;

  explicit GroupedPlacement(Placement& policy)
      : TieredPages(static_cast<PageIndex>(0)), policy_(policy) {}

  /// Where the marks lie, before any event: one for each page that there will be, zeros at first.
  void keep_marks_in(void* marks) { TieredPages::keep_in(marks); }

  [[nodiscard]] std::size_t bytes_per_page() const override { return policy_.bytes_per_page(); }
  void keep_in(void* records) override { policy_.keep_in(records); }
  [[nodiscard]] Tier place(PageIndex page, PageIndex near_free) override {
    return policy_.place(page, near_free);
  }
  void placed(PageIndex page, Tier tier) override {
    put(page, tier);
    policy_.placed(page, tier);
  }
  void released(PageIndex page) override {
    TieredPages::released(page);
    policy_.released(page);
  }
  void moved(PageIndex from, PageIndex to) override {
    TieredPages::moved(from, to);
    policy_.moved(from, to);
  }
  void costs(const Costs& costs) override { policy_.costs(costs); }
  void served(const Served& served) override { policy_.served(served); }
  [[nodiscard]] bool needs_scans() const override { return policy_.needs_scans(); }
  void scanned(std::span<const Scan> pages) override;
  [[nodiscard]] std::size_t decide(std::span<Exchange> exchanges) override;
  void resize(PageIndex near_pages) override {
    TieredPages::resize(near_pages);
    policy_.resize(near_pages);
  }

 private:
  struct Named {
    std::size_t promoted = 0;
    std::size_t demoted = 0;
  };
  [[nodiscard]] Named note(std::span<const Exchange> exchanges);
  [[nodiscard]] Named take_along(std::span<Exchange> exchanges, Named named);
  [[nodiscard]] bool is_wanted(PageIndex first);
  void forget();

  Placement& policy_;
  bool told_ = false;  // of a scan since the last decision
};

}  // namespace nearfar::policy
