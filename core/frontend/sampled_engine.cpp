#include <utility>

#include "frontend/engine.h"

namespace nearfar::frontend {
namespace {

/// The program's clock is `ahead_` of the inner machine's, by what was skipped.
class SampledEngine final : public Engine {
 public:
  SampledEngine(std::unique_ptr<Engine> inner, std::unique_ptr<Engine> checker, Tick period)
      : inner_(std::move(inner)),
        checker_(std::move(checker)),
        pace_(static_cast<double>(period.ps())) {}

  Thread add_thread(Tick at) override {
    checker_->add_thread(at);
    return inner_->add_thread(at);
  }
  void end_thread(Thread thread) override {
    each([&](Engine& one) { one.end_thread(thread); });
  }
  void run(Thread thread, const sim::cpu::Block& block,
           std::span<const sim::cpu::Access> accesses) override {
    if (executes_ != Executes::checker) inner_->run(thread, block, accesses);
    if (executes_ != Executes::machine) checker_->run(thread, block, accesses);
  }
  void skip(Thread thread, std::uint64_t instructions) override {
    const Spent latest = inner_->spent(thread) - paced_;
    if (latest.instructions >= enough) {
      pace_ = static_cast<double>(latest.busy.ps()) / static_cast<double>(latest.instructions);
      paced_ = inner_->spent(thread);
    }
    ahead_ += Tick(static_cast<std::uint64_t>(static_cast<double>(instructions) * pace_));
  }
  [[nodiscard]] Spent spent(Thread thread) override { return inner_->spent(thread); }
  void executes(Executes which) override { executes_ = which; }
  [[nodiscard]] Spent checked(Thread thread) override { return checker_->spent(thread); }
  void catch_up(const TouchedPages& touched) override {
    each([&](Engine& one) { one.catch_up(touched); });
  }
  void leave(Thread thread) override {
    each([&](Engine& one) { one.leave(thread); });
  }
  void come_back(Thread thread, Tick at) override {
    checker_->come_back(thread, Tick{});
    inner_->come_back(thread, at > ahead_ ? at - ahead_ : Tick{});
  }
  [[nodiscard]] Tick now(Thread thread) override { return inner_->now(thread) + ahead_; }
  [[nodiscard]] Tick clock(Thread thread) const override { return inner_->clock(thread) + ahead_; }
  [[nodiscard]] bool ahead(Thread, Tick) const override { return false; }

  void mapped(Address address, Bytes bytes, Mapping kind) override {
    each([&](Engine& one) { one.mapped(address, bytes, kind); });
  }
  void unmapped(Address address, Bytes bytes) override {
    each([&](Engine& one) { one.unmapped(address, bytes); });
  }
  void remapped(Address from, Bytes from_bytes, Address to, Bytes to_bytes) override {
    each([&](Engine& one) { one.remapped(from, from_bytes, to, to_bytes); });
  }
  void flush_range(Thread thread, Address address, Bytes bytes) override {
    each([&](Engine& one) { one.flush_range(thread, address, bytes); });
  }
  void report(std::ostream& out) override { inner_->report(out); }

 private:
  static constexpr std::uint64_t enough = 1000;  ///< instructions to tell a pace by

  template <typename Do>
  void each(const Do& action) {
    action(*inner_);
    action(*checker_);
  }

  std::unique_ptr<Engine> inner_;
  std::unique_ptr<Engine> checker_;
  double pace_;  ///< ps an instruction, of the latest
  Spent paced_;  ///< when that was found
  Tick ahead_{};
  Executes executes_ = Executes::machine;
};

}  // namespace

std::unique_ptr<Engine> make_sampled_engine(std::unique_ptr<Engine> inner,
                                            std::unique_ptr<Engine> checker, Tick period) {
  return std::make_unique<SampledEngine>(std::move(inner), std::move(checker), period);
}

}  // namespace nearfar::frontend
