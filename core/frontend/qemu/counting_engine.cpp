#include <vector>

#include "frontend/qemu/engine.h"

namespace nearfar::frontend::qemu {
namespace {

class CountingEngine final : public Engine {
 public:
  explicit CountingEngine(Tick period) : period_(period) {}

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
  void wait(Thread thread, Tick until) override { clocks_[thread] = max(clocks_[thread], until); }
  [[nodiscard]] Tick now(Thread thread) const override { return clocks_[thread]; }
  void report(std::ostream&) override {}

 private:
  Tick period_;
  std::vector<Tick> clocks_;
};

}  // namespace

std::unique_ptr<Engine> make_counting_engine(Tick period) {
  return std::make_unique<CountingEngine>(period);
}

}  // namespace nearfar::frontend::qemu
