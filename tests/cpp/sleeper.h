#pragma once

#include <unistd.h>

#include <atomic>
#include <thread>

#include "tier/os/cpu.h"

namespace nearfar::tier {

/// A thread that sleeps, and ends with the test.
class Sleeper {
 public:
  Sleeper()
      : thread_([this] {
          number_.store(gettid());
          number_.notify_one();
          over_.wait(false);
        }) {
    number_.wait(0);
  }
  ~Sleeper() {
    over_.store(true);
    over_.notify_one();
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  [[nodiscard]] int number() const { return number_.load(); }
  [[nodiscard]] os::Cpus cpus() const { return os::cpus_of(number()); }

 private:
  std::atomic<int> number_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace nearfar::tier
