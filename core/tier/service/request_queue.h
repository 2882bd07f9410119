#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/os/system.h"
#include "tier/os/uffd.h"
#include "tier/pager/page_table.h"
#include "tier/service/wake_up.h"

namespace nearfar::tier {

/// What a thread of the program wants of the pager.
struct Request {
  enum class Kind : std::uint8_t {
    move,
    cover,
    release,  ///< from management, with its contents
    uncover,
    discard,
    agree_to_fork,
    pause,
    resume,
    sample,
    will_need,
    cold,
    keep_near,
    may_leave,
    be_sandboxed  ///< all threads, or the first, are about to be forbidden some system calls
  };
  Kind kind = Kind::sample;
  os::Place begin = 0;
  os::Place end = 0;  ///< of a move: the target
  std::size_t length = 0;
  PageNumber passed = 0;  ///< of a move: pages that have been moved
  int thread = 0;         ///< of a fork: the thread that forks
};

/// Requests of the program's threads, each in a slot until it is answered. Here are the discards,
/// too, that those threads make by a system call of their own: the kernel tells the pager what they
/// drop, and the pager charges the process for it until the call is over.
///
/// A slot is not on the stack of the thread that asks: that may be far, and the pager must not
/// touch it.
class RequestQueue {
 public:
  /// How a request is answered: with no, with yes, or not yet, so that it is served again.
  enum class Answer : std::uint8_t { no, yes, later };

  class Slot;

  /// Without requests, also in a forked child.
  void start();

  // For the program's threads, which block signals meanwhile.
  /// Posts a request, signals the pager, and waits for the answer; whether it is yes.
  bool ask(const Request& request, const WakeUp& pager);
  /// A slot for a discard that `process` is about to make; the same when it has been made.
  [[nodiscard]] Slot& begin_discard(os::Place begin, os::Place end, int process,
                                    const WakeUp& pager);
  void end_discard(Slot& discard);

  // For the thread that is the pager's.
  /// Whether a request was posted since `begin_serving`.
  [[nodiscard]] bool has_new() const { return new_.load(std::memory_order_relaxed) != 0; }
  void begin_serving() {
    if (has_new()) new_.store(0);
  }
  /// Answers requests by `serve(request)`; the end of a fork only, if `only_resume`. Whether
  /// another round may get further: one was answered, or one waits for something else than other
  /// threads.
  template <typename Serve>
  bool serve(bool only_resume, const Serve& serve);

  /// Charges `pages` to the discard by which a change was made. False if the program has made the
  /// change past this library.
  [[nodiscard]] bool has_discard_of(const os::Message& change) { return find(change) != nullptr; }
  void charge_discard_of(const os::Message& change, std::uint64_t pages);
  /// Discards that are over leave their slots; returns the pages that were charged for them.
  [[nodiscard]] std::uint64_t take_finished_discards(long process);
  /// Whether there are discards that are not over, or have pages charged.
  [[nodiscard]] bool has_discards() const;

 private:
  /// Of a request: empty, writing, posted, writing. Of a discard: empty, writing, discarding, over.
  enum Phase : std::uint32_t { empty, writing, posted, discarding, over };

 public:
  class Slot {
    friend class RequestQueue;
    std::atomic<std::uint32_t> phase_;
    Request request_;
    bool granted_;
    int process_;  // that discards
    std::uint64_t charged_;  // near pages that a discard drops, until it is over
  };

 private:
  [[nodiscard]] Slot& take_slot(const WakeUp& pager);
  [[nodiscard]] Slot& slot_for(Request::Kind kind, const WakeUp& pager);
  [[nodiscard]] Slot* find(const os::Message& change);
  [[nodiscard]] static bool is_over(const Slot& slot, long process);

  // The last one is the fork's, of which there is one at a time: all others may wait for its end.
  static constexpr std::size_t common_slots = 32;
  std::array<Slot, common_slots + 1> slots_{};
  std::atomic<std::uint32_t> new_{0};
};

template <typename Serve>
bool RequestQueue::serve(bool only_resume, const Serve& serve) {
  bool again = false;
  for (Slot& slot : slots_) {
    if (slot.phase_.load() != posted) continue;
    if (only_resume && slot.request_.kind != Request::Kind::resume) continue;
    const Answer answer = serve(slot.request_);
    if (answer == Answer::later) {
      // The thread that a pause waits for signals its end.
      again = again || slot.request_.kind != Request::Kind::pause;
      continue;
    }
    slot.granted_ = answer == Answer::yes;
    slot.phase_.store(writing);  // the thread that has asked gives the slot back
    os::wake_all(slot.phase_);
    again = true;
  }
  return again;
}

}  // namespace nearfar::tier
