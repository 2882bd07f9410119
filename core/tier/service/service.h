#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "tier/pager/pager.h"
#include "tier/service/discard_gate.h"
#include "tier/service/held_changes.h"
#include "tier/service/own_tracer.h"
#include "tier/service/pager_affinity.h"
#include "tier/service/pager_lock.h"
#include "tier/service/request_queue.h"
#include "tier/service/waiting_faults.h"
#include "tier/service/wake_up.h"
#include "tier/tree/wake_pipe.h"

namespace nearfar::tier {

/// What a thread remembers of its last fault at memory that the pager did not manage.
struct UnmanagedFault {
  os::Place at = 0;
  std::uint64_t changes = 0;  ///< of what is managed, until then
};

/// The threads that run a pager. The first one handles, in this order, what the kernel tells of
/// changes to the memory, faults, requests of the program, and eviction in the background. Where
/// the program's threads fault on several processors there may be more of them, each on one of
/// these (pager_affinity.h), which only serve faults. The thread that holds the pager's lock reads
/// the kernel's messages for all of them. None wakes a waiting thread while it holds the lock: the
/// woken thread would run in its place, for as long as it likes.
///
/// The program's threads do not run the pager themselves. One that did could touch its own stack
/// while that is far (a coroutine's stack is heap memory), and would wait for itself. Where the
/// program says that it has no such stacks, a thread that gets a signal for its fault serves it in
/// the handler of the signal.
class Service {
 public:
  /// `kept`: a descriptor that the program must not close either; -1: none.
  Service(Pager& pager, WakePipe wake_pipe, int kept, TracerPlace tracer = {})
      : pager_(pager), wake_pipe_(wake_pipe), kept_(kept), own_tracer_(tracer) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Starts the first thread. Ends the process if it cannot.
  void start();
  /// The same in a forked child, whose frames from `stack` on are in use and which has this number.
  void start_in_child(os::Place stack, std::int32_t process);

  /// Sends a request and waits until it is done; whether it could be.
  bool ask(const Request& request);

  /// Drops the contents of a range, which reads as zeros from now on; what the kernel returns. The
  /// kernel tells the pager before it does so, so the pager is asked nothing else.
  long discard(os::Place begin, os::Place end);

  /// The calling thread is about to start something that inherits the processors which it may run
  /// on, or to ask for these: for a while, no thread of the program is kept on a processor.
  void release_threads() { affinity_.release_threads(); }
  /// The same until `end_release`: around a fork, until that is over in the parent.
  void begin_release() { affinity_.begin_release(); }
  void end_release() { affinity_.end_release(); }

  /// Serves a fault of the calling thread, in the handler of its signal. The page may not be there
  /// afterwards; then the thread touches it again. False if the fault is not for managed memory:
  /// only the second time in a row, as memory that was managed when it was touched may since have
  /// become another mapping.
  [[nodiscard]] bool fault(os::Place at, os::Touch touch, UnmanagedFault& last);

  /// What the calling thread has just added to what system calls work on stays near from now on, if
  /// it is.
  void wait_for_leaving_pages() {
    if (!pager_.held().are_pages_leaving()) return;
    const os::SignalsBlocked blocked;
    lock_.wait_until_free();
  }

  /// The process whose faults are served.
  [[nodiscard]] long process() const { return process_; }
  /// The lowest descriptor from `from` on that the service needs; -1 if there is none.
  [[nodiscard]] int first_owned(int from);

 private:
  using Answer = RequestQueue::Answer;
  /// A thread that serves faults, the first or another.
  struct Worker {
    Service* service = nullptr;
    std::size_t number = 0;
    WakeUp wake_up;
    bool rests = false;  ///< until it is signalled: it had no fault to serve when it last held the
                         ///< lock
    bool reads = false;  ///< meanwhile it also waits for messages of the kernel
    bool must_read = false;  ///< messages, before it serves more faults
  };
  struct Workers {
    std::array<Worker, PagerAffinity::most_workers> all{};
    std::size_t started = 1;
    bool were_wanted = false;  ///< others than the first
  };
  /// What is known of faults since they were last reported to the affinity thread.
  struct Progress {
    std::size_t new_faults = 0;  ///< read since then
    std::uint64_t came_ahead = 0;  ///< pages, by then
    std::uint64_t learnt_ns = 0;  ///< when the last faults were read
    std::uint32_t since_requests = 0;  ///< faults that the first worker has served one by one
    bool unserved = false;  ///< some faults could not be served the last time
  };
  /// Faults that threads serve in handlers of their signals.
  struct Handlers {
    int others = 1;  ///< threads that may run beside one
    std::uint32_t crowd = 0;  ///< not 0: of so many faults to come, some may be at once with others
  };

  /// Holds the pager's lock while no page is being copied.
  class Alone {
   public:
    explicit Alone(Service& service) : service_(service) {
      service_.lock_.lock().lock();
      service_.wait_for_copies();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    ~Alone() { service_.lock_.lock().unlock(); }

   private:
    Service& service_;
  };
  friend class ServiceSteps;  // of the tests: single steps without threads

  // Starting: service_start.cpp.
  void open_wake_ups(PagerCpu wanted);
  void forget_all();
  void start_threads(PagerCpu wanted);
  [[noreturn]] void run();

  // The first thread: service.cpp.
  [[nodiscard]] bool work();
  [[nodiscard]] bool work_alone(bool several, bool served);
  [[nodiscard]] bool is_time_for_requests() const;
  void listen(bool has_work);
  [[nodiscard]] bool may_have_far_pages() const;
  [[nodiscard]] WakeUp& pager_wake_up() { return workers_.all[0].wake_up; }

  // Messages and faults: service_faults.cpp.
  [[nodiscard]] bool can_read() const;
  bool read_messages(std::size_t reader);
  bool read_all_messages(std::size_t reader);
  void add_fault(const os::Message& message, std::size_t reader);
  void add_change(const os::Message& change);
  void apply(const os::Message& change);
  void apply_held();
  void apply_held_in_child();
  [[nodiscard]] bool can_serve(os::Place at) const;
  [[nodiscard]] bool serve_faults();
  void report_faults(std::size_t worker, std::size_t faults, std::uint64_t came_ahead);
  void wait_for_copies();
  [[nodiscard]] bool copy_page(os::Place at, os::Touch touch);
  void make_room();

  // Other threads of the pager: service_workers.cpp.
  void start_workers();
  [[noreturn]] void run_worker(Worker& worker);
  void rest(const Worker& worker);
  [[nodiscard]] bool work_in(Worker& worker);
  [[nodiscard]] std::optional<WaitingFault> find_waiting(Worker& worker);
  [[nodiscard]] std::optional<WaitingFault> take_waiting(std::size_t worker);
  [[nodiscard]] bool serve_in_worker(const WaitingFault& fault);

  // Threads of the program: service_requests.cpp, service_handler.cpp.
  [[nodiscard]] bool is_without_pager() const;
  [[nodiscard]] bool may_be_covered() const;
  void let_pager_go_on();
  void uncharge_finished_discards();
  [[nodiscard]] Answer serve(Request& request);
  [[nodiscard]] Answer serve_fork(const Request& request);
  [[nodiscard]] Answer serve_mapping(Request& request);
  void serve_advice(const Request& request);
  [[nodiscard]] Answer pause();
  void resume();
  [[nodiscard]] static bool has_our_descriptors(int thread);
  [[nodiscard]] bool is_unmanaged_again(os::Place at, const UnmanagedFault& last) const;
  void count_crowd();

  static constexpr std::size_t most_waiting = 8192;
  static constexpr std::size_t most_held = 65536;

  Pager& pager_;
  PagerLock lock_;
  Workers workers_;
  Progress progress_;
  Handlers handlers_;
  PagerAffinity affinity_;
  RequestQueue requests_;
  DiscardGate discards_;
  WaitingFaults waiting_;
  HeldChanges held_;
  // A thread that has unmapped memory past libc goes on once that is read, before it is applied.
  std::atomic<bool> reads_messages_{false};
  std::uint64_t changes_ = 1;  // of what is managed
  WakePipe wake_pipe_;
  int kept_;
  OwnTracer own_tracer_;
  long process_ = 0;
};

}  // namespace nearfar::tier
