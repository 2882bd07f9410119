#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "tier/pager/pager.h"
#include "tier/service/lock.h"
#include "tier/service/pager_affinity.h"
#include "tier/tree/wake_pipe.h"

namespace nearfar::tier {

/// What a thread of the program wants of the pager.
struct Request {
  enum class Kind : std::uint8_t {
    move,
    cover,
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
  int thread = 0;  ///< of a fork: who forks
};

/// What a thread remembers of its last fault that was not the pager's matter when it was looked at.
struct Unmanaged {
  os::Place at = 0;
  std::uint64_t changes = 0;  ///< of what is managed, until then
};

/// The thread that runs a pager: what the kernel tells of changes to the memory first, then faults,
/// then requests, then eviction in the background. Where the program's threads fault on several
/// processors there may be others (workers, pager_affinity.h), each on one of these, which serve
/// faults as the first does: who has the lock reads what the kernel tells for all of them. None of
/// them wakes who waits for a page while it has the lock: who is woken runs before it, for as long
/// as it likes. Who has made a change or a request, and is woken so, waits for the lock. Nothing is
/// done about who has touched what is granted in a window, and fills that before the pager's thread
/// goes on.
///
/// The program's threads do not run the pager themselves. One that did could touch its own stack
/// while that is far (a coroutine's stack is heap memory), and would wait for itself. Where the
/// program says that it has no such stacks, a thread that gets a signal for its fault serves it in
/// the handler, and whoever holds the lock is the pager's one thread. It is held across no call
/// that waits for the program, nor while a page is copied and nothing else is to be done.
class Service {
 public:
  /// `kept`: a descriptor that is the service's to protect, too; -1: none.
  Service(Pager& pager, WakePipe wake_pipe, int kept)
      : pager_(pager), wake_pipe_(wake_pipe), kept_(kept) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Starts the thread. Ends the process if it cannot.
  void start();
  /// The same of a forked child, whose frames from `stack` on are in use and which is this process
  /// to the system.
  void start_in_child(os::Place stack, std::int32_t process);

  /// Sends a request and waits until it is done; whether it could be.
  bool ask(const Request& request);

  /// Drops what is in a range, which reads as zeros from now on: what the kernel says to it. The
  /// kernel has the pager look away first, so nothing else is asked of it.
  long discard(os::Place begin, os::Place end);

  /// The caller is about to start something that may run where it may, or to ask where that is:
  /// everywhere that the program has allowed, for a while.
  void let_threads_go() { affinity_.let_go(); }
  /// The same until the caller has done so: before a fork, until it is over in the parent.
  void let_threads_go_until_then() { affinity_.let_go_until_then(); }
  void keep_threads_again() { affinity_.keep_again(); }

  /// A thread's own fault, in the handler of its signal. The page may not be there afterwards; then
  /// it will be touched again. False if the fault is not for managed memory: only the second time
  /// in a row, as what was managed when it was touched may since have become another mapping.
  [[nodiscard]] bool fault(os::Place at, os::Touch touch, Unmanaged& last);

  /// The process whose faults are served.
  [[nodiscard]] long process() const { return process_; }
  /// The lowest descriptor from `from` on that the service needs; -1 if there is none.
  [[nodiscard]] int first_owned(int from);

 private:
  /// Of a request: empty, writing, posted, writing. Of a discard: empty, writing, discarding, over.
  enum Phase : std::uint32_t { empty, writing, posted, discarding, over };
  struct Letter {
    std::atomic<std::uint32_t> phase;
    Request request;
    bool done;
    int process;  ///< that discards
    std::uint64_t charged;  ///< near pages that a discard drops, until it is over
  };
  /// A page that a thread waits for.
  struct Waiting {
    os::Place at;
    os::Touch touch;
    int thread;
    std::size_t worker;  ///< which is to serve it
    std::uint64_t since;  ///< it was learnt of, in nanoseconds
  };
  /// A thread that serves faults, the first or another.
  struct Worker {
    Service* service = nullptr;
    std::size_t number = 0;
    int bell = -1;
    bool rests = false;  ///< until it is rung: there was no fault that it could serve when it last
                         ///< had the lock
    bool reads = false;  ///< until then, also until the kernel has something to tell
    bool asks = false;  ///< what it has to tell is to be read before more faults are served
  };
  static constexpr std::size_t most_waiting = 8192;  ///< and one for each worker
  static constexpr std::size_t most_held = 4096;

  /// Whoever is the pager's one thread, while no page is in flight.
  class Alone {
   public:
    explicit Alone(Service& service) : service_(service) {
      service_.one_thread_.lock();
      service_.wait_for_copies();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    ~Alone() { service_.one_thread_.unlock(); }

   private:
    Service& service_;
  };

  [[noreturn]] void run();
  void let_pager_go_on();
  void start_workers();
  [[noreturn]] void run_worker(Worker& worker);
  [[nodiscard]] bool work_in(Worker& worker);
  [[nodiscard]] bool find_waiting(Worker& worker, Waiting& found);
  [[nodiscard]] bool take_waiting(std::size_t worker, Waiting& taken);
  [[nodiscard]] bool serve_in_worker(const Waiting& waiting);
  void report_faults(std::size_t worker, std::size_t faults, std::uint64_t came_ahead);
  [[nodiscard]] static int make_bell();
  static void ring(Worker& worker);
  void wait_for_copies();
  void make_room();
  void lock_for_fault();
  [[nodiscard]] bool copy_page(os::Place at, os::Touch touch);
  [[nodiscard]] bool work();
  [[nodiscard]] bool is_asked();
  [[nodiscard]] bool is_unmanaged(os::Place at, Unmanaged& last) const;
  [[nodiscard]] Letter& take_letter();
  [[nodiscard]] Letter& letter_for(Request::Kind kind);
  [[nodiscard]] bool is_without_pager() const;
  void ring() { ring(workers_[0]); }
  void finish_discards();
  [[nodiscard]] Letter* discard_of(const os::Message& change);
  [[nodiscard]] bool is_over(const Letter& letter) const;
  [[nodiscard]] bool discards_go_on() const;
  [[nodiscard]] bool can_read() const {
    constexpr std::size_t once = os::Uffd::most_read;
    return waiting_count_ + once <= most_waiting && held_count_ + once <= most_held;
  }
  bool read_messages(std::size_t reader);
  bool read_all_messages(std::size_t reader);
  [[nodiscard]] bool may_be_covered() const;
  void follow(const os::Message& change);
  void follow_held();
  void follow_in_child();
  [[nodiscard]] bool is_held(os::Place at) const;
  bool serve_faults();
  bool serve_requests();
  using Answer = Outcome;
  [[nodiscard]] Answer serve(Request& request);
  [[nodiscard]] Answer pause();
  [[nodiscard]] static bool has_our_descriptors(int thread);
  void let_discard();
  void wait_for_faults();
  void tell_discards(bool served);
  void listen(bool has_work);

  Pager& pager_;
  Lock one_thread_{};  // calls the pager
  std::array<Worker, PagerAffinity::most_workers> workers_{};
  std::size_t started_ = 1;  // workers
  bool has_tried_workers_ = false;
  std::atomic<std::uint32_t> asked_{0};  // somebody has posted a request
  std::uint32_t unasked_ = 0;  // faults that the first worker has served since it looked at others
  std::atomic<std::uint32_t> grounding_{0};  // how many wait for those in flight: no more take off
  std::atomic<std::uint32_t> sleepers_{0};  // not 0: some of these sleep meanwhile
  std::atomic<std::uint32_t> left_{0};  // times that somebody has left a flight while they did
  std::atomic<std::uint32_t> rooms_{0};  // times that room was made
  int others_ = 1;  // threads that may run beside one
  std::uint32_t crowd_ = 0;  // not 0: of so many faults to come, some may be at once with others
  PagerAffinity affinity_;
  std::uint64_t changes_ = 1;  // of what is managed
  // Not on the stack of who asks: that may be far, and the pager must not touch it. The last one is
  // the fork's, of which there is one at a time: all others may wait for its end.
  static constexpr std::size_t common_letters = 32;
  std::array<Letter, common_letters + 1> letters_{};
  std::array<os::Message, os::Uffd::most_read> messages_{};  // that are being read
  Waiting* waiting_ = nullptr;
  std::size_t waiting_count_ = 0;
  bool unserved_ = false;  // some of those could not be served the last time
  std::size_t new_faults_ = 0;  // of those, read since faults were last served
  std::uint64_t came_ahead_ = 0;  // pages, when faults were last learnt of
  std::uint64_t learnt_ = 0;  // the last faults, in nanoseconds
  os::Message* held_ = nullptr;  // what the kernel has told of while a fork goes on
  std::atomic<std::size_t> held_count_{0};
  // Whoever has unmapped memory past libc goes on once that is read, before it is followed.
  std::atomic<bool> reads_messages_{false};
  std::atomic<bool> holds_unmaps_{false};
  std::atomic<std::uint32_t> paused_;  // a fork goes on: no discard begins
  std::atomic<std::uint32_t> refusals_{0};  // times in a row that a page could not come
  std::atomic<std::uint32_t> faults_first_{0};  // discards wait for one
  std::atomic<bool> pause_waits_;  // for discards that are not over
  WakePipe wake_pipe_;
  int kept_;
  long process_ = 0;
};

}  // namespace nearfar::tier
