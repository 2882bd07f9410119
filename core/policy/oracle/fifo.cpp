#include "policy/oracle/oracle.h"
#include "policy/oracle/page_list.h"
#include "policy/registry.h"

namespace nearfar::policy {
namespace {

/// Near memory as a cache of pages: a page that is used comes in, the one that came in first goes
/// out.
class FifoOracle final : public Oracle {
 public:
  explicit FifoOracle(const OracleLimits& limits) : places_(limits.near_pages) {}

  Tier place(PageIndex page) override {
    if (near_.size() >= places_) return Tier::far;
    near_.push_back(page);
    return Tier::near;
  }
  void accessed(PageIndex page, bool, Tick, std::vector<Exchange>& exchanges) override {
    if (places_ == 0 || near_.contains(page)) return;
    Exchange exchange{.promote = page};
    if (near_.size() >= places_) {
      exchange.demote = near_.first();
      near_.remove(exchange.demote);
    }
    near_.push_back(page);
    exchanges.push_back(exchange);
  }
  void released(PageIndex page) override { near_.remove(page); }

 private:
  std::uint64_t places_;
  PageList near_;
};

}  // namespace

std::unique_ptr<Oracle> make_fifo_oracle(const OracleLimits& limits) {
  return std::make_unique<FifoOracle>(limits);
}

}  // namespace nearfar::policy
