#include <utility>

#include "frontend/engine.h"

namespace nearfar::frontend {
namespace {

/// The program's clock is `ahead_` of the inner machine's, by what was skipped.
class SampledEngine final : public Engine {
 public:
  SampledEngine(std::unique_ptr<Engine> inner, Tick period)
      : inner_(std::move(inner)), period_(period) {}

  Thread add_thread(Tick at) override { return inner_->add_thread(at); }
  void end_thread(Thread thread) override { inner_->end_thread(thread); }
  void run(Thread thread, const sim::cpu::Block& block,
           std::span<const sim::cpu::Access> accesses) override {
    inner_->run(thread, block, accesses);
  }
  void skip(Thread thread, std::uint64_t instructions) override {
    const Spent spent = inner_->spent(thread);
    const double pace = spent.instructions == 0 ? static_cast<double>(period_.ps())
                                                : static_cast<double>(spent.busy.ps()) /
                                                      static_cast<double>(spent.instructions);
    ahead_ += Tick(static_cast<std::uint64_t>(static_cast<double>(instructions) * pace));
  }
  [[nodiscard]] Spent spent(Thread thread) const override { return inner_->spent(thread); }
  void leave(Thread thread) override { inner_->leave(thread); }
  void come_back(Thread thread, Tick at) override {
    inner_->come_back(thread, at > ahead_ ? at - ahead_ : Tick{});
  }
  [[nodiscard]] Tick now(Thread thread) override { return inner_->now(thread) + ahead_; }
  [[nodiscard]] Tick clock(Thread thread) const override { return inner_->clock(thread) + ahead_; }
  [[nodiscard]] bool ahead(Thread, Tick) const override { return false; }

  void mapped(Address address, Bytes bytes, Mapping kind) override {
    inner_->mapped(address, bytes, kind);
  }
  void unmapped(Address address, Bytes bytes) override { inner_->unmapped(address, bytes); }
  void remapped(Address from, Bytes from_bytes, Address to, Bytes to_bytes) override {
    inner_->remapped(from, from_bytes, to, to_bytes);
  }
  void flush_range(Thread thread, Address address, Bytes bytes) override {
    inner_->flush_range(thread, address, bytes);
  }
  void report(std::ostream& out) override { inner_->report(out); }

 private:
  std::unique_ptr<Engine> inner_;
  Tick period_;
  Tick ahead_{};
};

}  // namespace

std::unique_ptr<Engine> make_sampled_engine(std::unique_ptr<Engine> inner, Tick period) {
  return std::make_unique<SampledEngine>(std::move(inner), period);
}

}  // namespace nearfar::frontend
