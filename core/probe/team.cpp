#include "probe/team.h"

#include <sched.h>

#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "probe/instructions.h"

namespace nearfar::probe {
namespace {

/// Pins the calling thread, and lets it go where it might before when that is over.
class Pin {
 public:
  explicit Pin(int cpu) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu), &one);
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_setaffinity(0, sizeof one, &one) != 0) {
      throw InputError("threads: processor " + std::to_string(cpu) + " may not be used");
    }
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

/// Spinning keeps the start sharp; yielding lets a member that shares a processor arrive.
constexpr int spins = 10'000;

}  // namespace

void Member::await_start() const {
  ready_->fetch_add(1);
  for (int spun = 0; ready_->load() < members_ && !stop_->load(); ++spun) {
    if (spun < spins) {
      relax();
    } else {
      sched_yield();
    }
  }
}

bool Member::carry_on() const {
  if (leads() && *poll_) (*poll_)();
  return !stop_->load(std::memory_order_relaxed);
}

Disturbance run_team(const std::vector<int>& cpus, const std::function<void(Member&)>& work,
                     const Poll& poll, bool stop_with_leader) {
  std::atomic<std::uint32_t> ready{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr failure;
  Disturbance total;

  const auto take_part = [&](std::uint32_t index) {
    try {
      const Pin pin(cpus[index]);
      const DisturbanceMeter meter(cpus[index]);
      Member member(index, static_cast<std::uint32_t>(cpus.size()), ready, stop, &poll);
      work(member);
      const Disturbance mine = meter.since();
      const std::scoped_lock lock(mutex);
      total.involuntary_switches += mine.involuntary_switches;
      total.stolen_ns += mine.stolen_ns;
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
    if (index == 0 && stop_with_leader) stop = true;
  };

  {
    std::vector<std::jthread> others;
    for (std::uint32_t index = 1; index < cpus.size(); ++index) {
      others.emplace_back(take_part, index);
    }
    take_part(0);
  }
  if (failure) std::rethrow_exception(failure);
  return total;
}

}  // namespace nearfar::probe
