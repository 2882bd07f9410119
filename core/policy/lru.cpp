#include "policy/page_list.h"

namespace nearfar::policy {
namespace {

/// Near memory as a cache of pages: what is used comes in, what was used longest ago goes out.
class Lru final : public Policy {
 public:
  explicit Lru(const Limits& limits) : places_(limits.near_pages) {}

  Tier place(Page page) override {
    if (near_.size() >= places_) return Tier::far;
    near_.push_back(page);
    return Tier::near;
  }
  void accessed(Page page, bool, Tick, std::vector<Move>& moves) override {
    if (places_ == 0) return;
    if (near_.contains(page)) {
      near_.move_to_back(page);
      return;
    }
    Move move{.in = page};
    if (near_.size() >= places_) {
      move.out = near_.first();
      near_.remove(move.out);
    }
    near_.push_back(page);
    moves.push_back(move);
  }
  void removed(Page page) override { near_.remove(page); }

 private:
  std::uint64_t places_;
  PageList near_;  // the one used longest ago first
};

}  // namespace

std::unique_ptr<Policy> make_lru(const Limits& limits) { return std::make_unique<Lru>(limits); }

}  // namespace nearfar::policy
