#include "policy/offline/flat.h"

#include <span>

#include "base/error.h"
#include "policy/offline/owned.h"

namespace nearfar::policy {
namespace {

/// The machine that a placement policy is told of, and that makes its exchanges.
class FlatMachine {
 public:
  FlatMachine(const Touches& touches, const FlatOptions& options)
      : options_(options),
        policy_(options.policy, options.near),
        seen_(options.detector, options.sample),
        tiers_(touches.pages(), Tier::far),
        exchanges_(options.pairs) {
    policy_.reserve(touches.pages());
    policy_->costs({.interval = touches.interval(),
                    .exchange = options.costs.exchange,
                    .saved = options.costs.far_read,
                    .scan = options.costs.scan});
    result_.intervals.reserve(touches.intervals());
    needs_scan_ = policy_->needs_scans();
  }

  void touch(PageIndex page, bool write) {
    if (page == pages_) add(page);
    const bool near = tiers_[page] == Tier::near;
    if (write) {
      ++(near ? now_.near_writes : now_.far_writes);
    } else {
      ++(near ? now_.near_reads : now_.far_reads);
    }
    if (needs_scan_) seen_.accessed(page, write, static_cast<std::uint8_t>(step_));
  }

  void pass(std::uint64_t steps) {
    for (; steps != 0; --steps) {
      if (++step_ < Touches::steps_a_scan) continue;
      step_ = 0;
      scan();
      if (++scans_ < scans_a_decision) continue;
      scans_ = 0;
      decide();
    }
  }

  [[nodiscard]] FlatResult finish() {
    close();
    return std::move(result_);
  }

 private:
  void add(PageIndex page) {
    ++pages_;
    seen_.add(page);
    const Tier tier = policy_->place(page, options_.near - near_);
    if (tier == Tier::near && near_ == options_.near)
      refuse(page, "which near memory has no room for");
    set(page, tier);
  }
  void set(PageIndex page, Tier tier) {
    tiers_[page] = tier;
    if (tier == Tier::near) ++near_;
    policy_->placed(page, tier);
  }

  void scan() {
    if (needs_scan_) {
      seen_.scan(found_);
      now_.scanned += found_.size();
      now_.told += seen_.told();
      policy_->scanned(found_);
    }
    needs_scan_ = policy_->needs_scans();
  }

  void decide() {
    policy_->served({.near = now_.near_reads, .far = now_.far_reads});
    const std::size_t count = policy_->decide(exchanges_);
    for (const Exchange& exchange : std::span(exchanges_).first(count)) make(exchange);
    close();
  }
  void make(const Exchange& exchange) {
    if (exchange.demote != no_page) {
      if (!is_in(exchange.demote, Tier::near)) refuse(exchange.demote, "which is not near");
      --near_;
      set(exchange.demote, Tier::far);
      ++now_.demoted;
    }
    if (exchange.promote == no_page) return;
    if (!is_in(exchange.promote, Tier::far)) refuse(exchange.promote, "which is not far");
    if (near_ == options_.near) refuse(exchange.promote, "which near memory has no room for");
    set(exchange.promote, Tier::near);
    ++now_.promoted;
  }
  [[nodiscard]] bool is_in(PageIndex page, Tier tier) const {
    return page < pages_ && tiers_[page] == tier;
  }
  [[noreturn]] void refuse(PageIndex page, const char* why) const {
    throw InputError("policy '" + options_.policy + "': named page " + std::to_string(page) + ", " +
                     why);
  }

  void close() {
    result_.intervals.push_back(now_);
    result_.total += now_;
    now_ = {};
  }

  const FlatOptions& options_;
  OwnedPlacement policy_;
  Seen seen_;
  std::vector<Tier> tiers_;
  std::vector<Exchange> exchanges_;
  std::vector<Scan> found_;
  PageIndex pages_ = 0;  // touched so far
  PageIndex near_ = 0;
  std::uint64_t step_ = 0;
  unsigned scans_ = 0;
  bool needs_scan_ = false;
  FlatInterval now_{};
  FlatResult result_{};
};

}  // namespace

FlatInterval& FlatInterval::operator+=(const FlatInterval& other) {
  near_reads += other.near_reads;
  near_writes += other.near_writes;
  far_reads += other.far_reads;
  far_writes += other.far_writes;
  promoted += other.promoted;
  demoted += other.demoted;
  scanned += other.scanned;
  told += other.told;
  return *this;
}

FlatResult replay_flat(const Touches& touches, const FlatOptions& options,
                       const std::function<void()>& ask) {
  constexpr std::size_t touches_asked_after = std::size_t{1} << 20U;
  std::size_t since_asked = 0;
  FlatMachine machine(touches, options);
  for (const Touches::Touch touch : touches.all()) {
    if (touch.is_steps()) {
      machine.pass(touch.value());
    } else {
      machine.touch(touch.value(), touch.write());
    }
    if (++since_asked == touches_asked_after && ask) {
      since_asked = 0;
      ask();
    }
  }
  FlatResult result = machine.finish();
  const FlatInterval& total = result.total;
  const FlatCosts& costs = options.costs;
  result.extra = total.far_reads * costs.far_read + total.far_writes * costs.far_write +
                 Tick((total.promoted + total.demoted) * costs.exchange.ps() / 2) +
                 total.scanned * costs.scan + total.told * costs.found;
  return result;
}

Tick all_far(const Touches& touches, const FlatCosts& costs) {
  return touches.reads() * costs.far_read + touches.writes() * costs.far_write;
}

}  // namespace nearfar::policy
