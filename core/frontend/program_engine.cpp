#include <sstream>
#include <string>
#include <utility>

#include "frontend/engine.h"
#include "frontend/program.h"

namespace nearfar::frontend {
namespace {

class ProgramEngine final : public Engine {
 public:
  ProgramEngine(const Settings& settings, Tick period, std::unique_ptr<TraceRecorder> trace)
      : program_(settings, Program::Options::from(settings)), period_(period) {
    if (trace) program_.record(std::move(trace));
  }

  Thread add_thread(Tick at) override { return program_.thread_started(at); }
  void end_thread(Thread thread) override { program_.thread_ended(thread); }
  void run(Thread thread, const sim::cpu::Block& block,
           std::span<const sim::cpu::Access> accesses) override {
    program_.run(thread, block, accesses);
  }
  void skip(Thread thread, std::uint64_t instructions) override {
    program_.play_fed(thread);
    program_.wait(thread, program_.clock(thread) + period_ * instructions);
  }
  [[nodiscard]] Spent spent(Thread thread) override {
    program_.play_fed(thread);
    const sim::cpu::CoreCounts& counts = program_.counts(thread);
    return {.instructions = counts.instructions, .busy = counts.busy()};
  }
  void leave(Thread thread) override { program_.left(thread); }
  void come_back(Thread thread, Tick at) override { program_.came_back(thread, at); }
  [[nodiscard]] Tick now(Thread thread) override { return program_.now(thread); }
  [[nodiscard]] Tick clock(Thread thread) const override { return program_.clock(thread); }
  [[nodiscard]] bool ahead(Thread thread, Tick) const override { return program_.ahead(thread); }

  void catch_up(const TouchedPages& touched) override { program_.catch_up(touched); }
  void mapped(Address address, Bytes bytes, Mapping kind) override {
    program_.mapped(address, bytes, kind);
  }
  void unmapped(Address address, Bytes bytes) override { program_.unmapped(address, bytes); }
  void remapped(Address from, Bytes from_bytes, Address to, Bytes to_bytes) override {
    program_.remapped(from, from_bytes, to, to_bytes);
  }
  void guest_maps(Thread thread, std::uint64_t virtual_page, std::uint64_t physical_page) override {
    program_.guest_maps(thread, virtual_page, physical_page);
  }
  void forget_translations(Thread thread) override { program_.forget_translations(thread); }
  void flush_range(Thread thread, Address address, Bytes bytes) override {
    program_.flush_range(thread, address, bytes);
  }

  void watch_pages(const WatchPages& watch) override { program_.watch_pages(watch); }

  void begin_region() override { program_.roi_begin(); }
  void end_region() override { program_.roi_end(); }
  void flush_trace() override { program_.flush_trace(); }
  void report(std::ostream& out) override {
    std::stringstream text;
    program_.report(text);
    for (std::string line; std::getline(text, line);) out << "machine." << line << '\n';
  }

 private:
  Program program_;
  Tick period_;
};

}  // namespace

std::unique_ptr<Engine> make_program_engine(const Settings& settings, Tick period,
                                            std::unique_ptr<TraceRecorder> trace) {
  return std::make_unique<ProgramEngine>(settings, period, std::move(trace));
}

}  // namespace nearfar::frontend
