#include <vector>

#include "frontend/engine.h"

namespace nearfar::frontend {
namespace {

class CountingEngine final : public Engine {
 public:
  CountingEngine(Tick period, Tick quantum) : period_(period), quantum_(quantum) {}

  Thread add_thread(Tick at) override {
    clocks_.push_back(at);
    return static_cast<Thread>(clocks_.size() - 1);
  }
  void end_thread(Thread) override {}
  void run(Thread thread, const sim::cpu::Block& block,
           std::span<const sim::cpu::Access>) override {
    skip(thread, block.instructions.size());
  }
  void skip(Thread thread, std::uint64_t instructions) override {
    clocks_[thread] += period_ * instructions;
  }
  void leave(Thread) override {}
  void come_back(Thread thread, Tick at) override { clocks_[thread] = max(clocks_[thread], at); }
  [[nodiscard]] Tick now(Thread thread) override { return clocks_[thread]; }
  [[nodiscard]] Tick clock(Thread thread) const override { return clocks_[thread]; }
  [[nodiscard]] bool ahead(Thread thread, Tick slowest) const override {
    return clocks_[thread] > slowest + quantum_;
  }
  void report(std::ostream&) override {}

 private:
  Tick period_;
  Tick quantum_;
  std::vector<Tick> clocks_;
};

}  // namespace

std::unique_ptr<Engine> make_counting_engine(Tick period, Tick quantum) {
  return std::make_unique<CountingEngine>(period, quantum);
}

}  // namespace nearfar::frontend
