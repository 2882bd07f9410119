#include "tier/service/discard_gate.h"

#include "tier/os/system.h"

namespace nearfar::tier {

void DiscardGate::start() {
  closed_.store(0);
  refusals_.store(0);
  faults_first_.store(0);
}

void DiscardGate::wait_for_faults() {
  constexpr std::uint64_t most_ns = 2'000'000;
  if (faults_first_.load() != 0) os::wait_for(faults_first_, 1, most_ns);
}

void DiscardGate::wait_for_fork() {
  while (!is_open()) os::wait(closed_, 1);
}

void DiscardGate::close() {
  closed_.store(1);
  awaited_.store(true);
}

void DiscardGate::open() {
  closed_.store(0);
  os::wake_all(closed_);
}

void DiscardGate::report_fault(bool served) {
  constexpr std::uint32_t most = 8;  // in a row
  if (!served) {
    if ((refusals_.fetch_add(1) + 1) % most == 0) faults_first_.store(1);
  } else if (refusals_.load(std::memory_order_relaxed) != 0) {
    refusals_.store(0);
    if (faults_first_.exchange(0) != 0) os::wake_all(faults_first_);
  }
}

}  // namespace nearfar::tier
