#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "tier/pager.h"
#include "tier/tree_bell.h"

namespace nearfar::tier {

/// What a thread of the program wants of the pager.
struct Request {
  enum class Kind : std::uint8_t {
    discard,
    move,
    cover,
    uncover,
    agree_to_fork,
    pause,
    resume,
    sample,
    will_need,
    cold,
    keep_near,
    may_leave
  };
  Kind kind = Kind::sample;
  os::Place begin = 0;
  os::Place end = 0;  ///< of a move: the target
  std::size_t length = 0;
};

/// The thread that runs a pager: faults first, then requests, then eviction in the background.
///
/// The program's threads never run the pager themselves. One that did could touch its own stack
/// while that is far (a coroutine's stack is heap memory), and would wait for itself.
class Service {
 public:
  /// `kept`: a descriptor that is the service's to protect, too; -1: none.
  Service(Pager& pager, TreeBell tree_bell, int kept)
      : pager_(pager), tree_bell_(tree_bell), kept_(kept) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Starts the thread, of a program or of a forked child. Ends the process if it cannot.
  void start();

  /// Sends a request and waits until it is done; whether it could be.
  bool ask(const Request& request);

  /// The lowest descriptor from `from` on that the service needs; -1 if there is none.
  [[nodiscard]] int first_owned(int from);

 private:
  enum Phase : std::uint32_t { empty, writing, posted };
  struct Letter {
    std::atomic<std::uint32_t> phase;
    Request request;
    bool done;
  };

  [[noreturn]] void run();
  void serve_faults();
  bool serve_requests();
  [[nodiscard]] bool serve(const Request& request);
  void sleep();

  Pager& pager_;
  // Not on the stack of who asks: that may be far, and the pager must not touch it.
  std::array<Letter, 32> letters_{};
  int bell_ = -1;
  TreeBell tree_bell_;
  int kept_;
};

}  // namespace nearfar::tier
