#include "sim/machine/direct_reads.h"

#include <stdexcept>
#include <utility>

namespace nearfar::sim {
namespace {

constexpr std::uint64_t lines_a_poll = 1u << 16;

}  // namespace

DirectReads::DirectReads(Device& device, std::uint32_t outstanding, Tick now)
    : device_(device), now_(now), issued_(outstanding, now) {
  for (std::uint32_t slot = 0; slot < outstanding; ++slot) free_.push(slot);
}

cpu::Agent::Measured DirectReads::run(cpu::Program& program, const cpu::Agent::Limits& limits,
                                      const std::function<void()>& poll) {
  measured_ = {};
  done_ = 0;
  // With the n-th completion, that many less one and all slots have been issued.
  const std::uint64_t slots = issued_.size();
  first_timed_ = limits.warm_lines < slots ? 0 : limits.warm_lines - slots;
  Tick warm_at = now_;
  Tick issued = now_;
  cpu::Step step;
  std::uint64_t lines = 0;
  while (lines != limits.lines && program.next(step)) {
    while (free_.empty()) this->step();
    const std::uint32_t slot = free_.front();
    free_.pop();
    issued = issued_[slot];
    if (++lines == limits.warm_lines) warm_at = issued;
    const Tick taken = device_.send({.id = slot, .address = step.address}, now_, sink_);
    if (taken.is_never()) throw std::logic_error("the memory has forgotten a request");
    now_ = taken;
    if (!sink_.empty()) collect();
    if (lines % lines_a_poll == 0 && poll) poll();
  }
  while (done_ != lines) this->step();
  measured_.lines = lines - limits.warm_lines;
  measured_.elapsed = issued - warm_at;
  return std::move(measured_);
}

void DirectReads::step() {
  const Tick reached = device_.advance_to_completion(last_instant, sink_);
  if (sink_.empty()) throw std::logic_error("the memory has forgotten a request");
  now_ = max(now_, reached);
  collect();
}

void DirectReads::collect() {
  for (const Completion& completion : sink_) {
    if (completion.kind != Completion::Kind::done) continue;
    const auto slot = static_cast<std::uint32_t>(completion.id);
    if (done_++ >= first_timed_) measured_.latency.add((completion.time - issued_[slot]).ps());
    issued_[slot] = completion.time;
    free_.push(slot);
  }
  sink_.clear();
}

}  // namespace nearfar::sim
