#include <unordered_set>

#include "policy/policy.h"

namespace nearfar::policy {
namespace {

/// The first pages touched are near, the rest far; nothing moves. What most systems do, and what
/// the others are compared with.
class Static final : public Policy {
 public:
  explicit Static(const Limits& limits) : places_(limits.near_pages) {}

  Tier place(Page page) override {
    if (near_.size() >= places_) return Tier::far;
    near_.insert(page);
    return Tier::near;
  }
  void accessed(Page, bool, Tick, std::vector<Move>&) override {}
  void removed(Page page) override { near_.erase(page); }

 private:
  std::uint64_t places_;
  std::unordered_set<Page> near_;  // asked, never walked
};

}  // namespace

std::unique_ptr<Policy> make_static(const Limits& limits) {
  return std::make_unique<Static>(limits);
}

}  // namespace nearfar::policy
