#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/os/thread.h"

namespace nearfar::tier {

/// Where a tree's own tracer listens: a process, its number for a pipe, and how many filters of
/// system calls (seccomp) it has. A process with more may be ended for a call that opens the pipe.
struct TracerPlace {
  int process = 0;
  int pipe = 0;  ///< 0: there is none
  int filters = 0;
};

/// Asks the tree's own tracer to trace the pager's threads of this process, so that no other
/// process can. A tracer such as `strace -f -p` stops all threads that it finds, and then reads
/// memory of the program that may be far: were the pager's threads among those that it has stopped,
/// both would wait for each other for ever. A thread has one tracer at most, and this one lets the
/// threads run. (python/nearfar/tier/own_tracer.py is the other side.)
///
/// A debugger does not go on before it has stopped every thread. So while all pages are ordered to
/// stay near, when stopped pager threads do no harm, they have no tracer.
class OwnTracer {
 public:
  static constexpr std::size_t most_threads = 8;

  /// One request, as it goes through the pipe: numbers as /proc has them.
  struct Request {
    std::int32_t process;
    std::int32_t thread;  ///< to be traced; 0: none of the process's any more
  };

  explicit OwnTracer(TracerPlace place = {}) : place_(place) {}

  /// Before there are threads, also in a forked child; `status`: an open file that tells of the
  /// process.
  void start(int status);
  /// The calling thread is the pager's, at this position.
  void add_this_thread(std::size_t position);
  /// How a pager thread is to start another one.
  [[nodiscard]] os::Tracer for_new_threads() const;
  /// Asks for all threads, or for none, when that changes; at first there is none. A process
  /// without far pages does not need it, and ends sooner without.
  void trace_all(bool wanted);

 private:
  /// The process may have got more filters since the last time.
  [[nodiscard]] bool is_usable() const;
  void ask_for(int thread) const;
  void send(Request request) const;

  TracerPlace place_;
  int status_ = -1;
  bool traces_ = false;
  int process_ = 0;
  std::array<std::atomic<int>, most_threads> threads_{};  // by position; 0: none
};

}  // namespace nearfar::tier
