#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace nearfar::frontend::qemu {

/// Notices that the run must end although its program goes on, and does something about it: in a
/// thread of its own, because the program's may be in a system call that never returns.
///
/// `nearfar run` says so by making a file. A thread that looks for it now and then needs no file
/// descriptor, of which the program might close any.
class StopWatch {
 public:
  /// `then` is called by the thread, once, after `is_due()` has become true.
  StopWatch(std::string file, std::function<void()> then)
      : file_(std::move(file)), then_(std::move(then)) {}
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  /// Starts the thread; again in a process that a fork has made. It must not be destroyed after
  /// that. Where there can be no thread, a run is ended by force.
  void start();

  /// Whether the run must end: what is simulated from now on is not waited for.
  [[nodiscard]] bool is_due() const { return due_.load(std::memory_order_relaxed); }

 private:
  void watch();

  std::string file_;
  std::function<void()> then_;
  std::atomic<bool> due_ = false;
};

/// Ends the process as SIGTERM would if the program let it.
[[noreturn]] void die_of_sigterm();

}  // namespace nearfar::frontend::qemu
