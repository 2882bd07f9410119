#include "tier/service/pager_affinity.h"

#include "tier/os/system.h"

namespace nearfar::tier {

void PagerAffinity::start(int faults, PagerCpu wanted) {
  observer_.start(wanted);
  threads_.start();
  link_.start();
  thread_.start(faults);
}

void PagerAffinity::wait_for_thread() {
  while (link_.state.load() == AffinityLink::absent) os::wait(link_.state, AffinityLink::absent);
}

void PagerAffinity::forget_faults() {
  const std::size_t count = link_.worker_count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i)
    link_.workers[i].serves.store(0, std::memory_order_relaxed);
}

void PagerAffinity::stop() {
  link_.stop.store(true);
  link_.signal();
  while (link_.state.load() != AffinityLink::stopped) os::wait(link_.state, link_.state.load());
}

void PagerAffinity::begin_release() {
  threads_.begin_release();
  wait_until_released(true);
}

/// A child that was made past libc has no affinity thread. One that shares this process's memory
/// until it becomes another program (vfork) has; from here the two look the same, so the child
/// waits only for so long. The affinity thread may be late, so each time anew the release is asked
/// for.
void PagerAffinity::wait_until_released(bool until_end) {
  constexpr std::uint64_t soon_ns = 1'000'000;
  constexpr int most_waits_in_child = 20;
  for (int waits = 0;; ++waits) {
    if (!until_end) threads_.release_for_a_while();
    const std::uint32_t kept = threads_.kept().load();
    if (kept == 0 || link_.state.load() == AffinityLink::stopped) return;
    if (waits >= most_waits_in_child && !threads_.is_own_process()) return;
    link_.signal();
    os::wait_for(threads_.kept(), kept, soon_ns);
  }
}

}  // namespace nearfar::tier
