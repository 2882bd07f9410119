#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tier/attach/os/target.h"
#include "tier/attach/placer.h"

namespace nearfar::tier::attach {

/// Manages the memory of a process that runs, by a thread of this one, from the constructor until
/// `stop` or the end of the process. When this process ends, the other one runs on as it is.
class Manager {
 public:
  struct Options {
    pid_t process = 0;
    std::vector<Area> only = {};  ///< what is managed of it; none: all that can be
    bool watches_reads = false;  ///< by DAMON; else, pages that are written are in use
    Placer::Options placing;
    Limit limit;
  };

  /// Throws InputError for a policy that there is not, and where DAMON is wanted and refused.
  explicit Manager(Options options);
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager();

  /// From now on so much may be near. From any thread, as all that follow.
  void set_limit(Limit limit);
  [[nodiscard]] Limit limit() const;
  /// Neither looks nor moves anything until it goes on.
  void pause(bool paused);
  [[nodiscard]] bool is_paused() const;
  [[nodiscard]] Counts counts() const;
  /// Whether the process has ended, or can be looked at no more.
  [[nodiscard]] bool has_ended() const;
  /// Whether the memory has been looked at since the constructor, and the limit has been held once
  /// or cannot be.
  [[nodiscard]] bool is_settled() const;
  /// Ends the thread and throws what had ended it before, if anything.
  void stop();

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] bool step();
  [[nodiscard]] std::uint64_t pause_ns() const;
  void trim(const std::stop_token& stop);
  [[nodiscard]] ProcessMemory& memory() { return watched_ ? *watched_ : target_; }
  void wait(const std::stop_token& stop, std::uint64_t ns);
  void wait_for_news(const std::stop_token& stop);
  void publish();

  Options options_;
  Target target_;
  std::unique_ptr<ProcessMemory> watched_;  ///< the same with DAMON beside it
  Placer placer_;
  unsigned scans_ = 0;  // since the last decision
  unsigned quiet_ = 0;  // scans in a row that found nothing used

  mutable std::mutex mutex_;
  std::condition_variable_any bell_;
  Limit limit_;  // those below belong to the mutex
  Counts published_;
  bool paused_ = false;
  bool changed_ = false;
  bool ended_ = false;
  bool settled_ = false;
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace nearfar::tier::attach
