#include "policy/placement/placement.h"
#include "policy/registry.h"

namespace nearfar::policy {
namespace {

/// The first pages that are touched are near, the rest far; nothing moves. This is what most
/// systems do, and what the other policies are compared with.
class StaticPlacement final : public Placement {
 public:
  [[nodiscard]] std::size_t bytes_per_page() const override { return 0; }
  void keep_in(void*) override {}
  void placed(PageIndex, Tier) override {}
  void released(PageIndex) override {}
  void moved(PageIndex, PageIndex) override {}
  [[nodiscard]] bool needs_scans() const override { return false; }
  void scanned(std::span<const Scan>) override {}
  [[nodiscard]] std::size_t decide(std::span<Exchange>) override { return 0; }
  void resize(PageIndex) override {}
};

}  // namespace

Placement& make_static(PolicyStorage& at, PageIndex) { return make_at<StaticPlacement>(at); }

}  // namespace nearfar::policy
