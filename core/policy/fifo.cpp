#include "policy/page_list.h"

namespace nearfar::policy {
namespace {

/// Near memory as a cache of pages: what is used comes in, what came in first goes out.
class Fifo final : public Policy {
 public:
  explicit Fifo(const Limits& limits) : places_(limits.near_pages) {}

  Tier place(Page page) override {
    if (near_.size() >= places_) return Tier::far;
    near_.push_back(page);
    return Tier::near;
  }
  void accessed(Page page, bool, Tick, std::vector<Move>& moves) override {
    if (places_ == 0 || near_.contains(page)) return;
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
  PageList near_;
};

}  // namespace

std::unique_ptr<Policy> make_fifo(const Limits& limits) { return std::make_unique<Fifo>(limits); }

}  // namespace nearfar::policy
