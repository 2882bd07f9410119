#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/settings.h"
#include "base/tick.h"
#include "frontend/engine.h"
#include "frontend/qemu/counts.h"
#include "frontend/qemu/gate.h"
#include "frontend/qemu/messages.h"
#include "frontend/qemu/passing.h"
#include "frontend/qemu/recorder.h"
#include "frontend/qemu/sample.h"
#include "frontend/qemu/shared_table.h"
#include "frontend/qemu/stop_watch.h"
#include "frontend/qemu/told_lines.h"
#include "frontend/qemu/window.h"

namespace nearfar::frontend::qemu {

/// One thread of the guest. Only its own host thread touches it, except the members that the lock
/// guards.
struct Thread {
  Recorder recorder;
  Passing passing;  ///< in place of the recorder, where instructions are only counted
  Counts fresh;  ///< counted since the last drain
  ToldLines told;
  PointerOrigins origins;
  Counts counts;  ///< guarded
  Engine::Thread engine = 0;
  Gate::Member gate = 0;
  Tick began{};
  Tick idle{};  ///< spent waiting since then
};

/// The guest's process: its threads, the simulated machine and the result. It is never destroyed
/// once its first thread has come.
class Process {
 public:
  /// `folder` is where `nearfar run` put the options and awaits results; `start` is the
  /// simulated time at which this program begins, `number` how many programs the same process
  /// executed before.
  Process(std::string folder, Tick start, std::uint64_t number);

  [[nodiscard]] const Settings& options() const { return options_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Whether loads of pointers are to be found, without a marker.
  [[nodiscard]] bool finds_pointers() const { return finds_pointers_; }
  /// The program's own.
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }

  /// The calling thread.
  [[nodiscard]] Thread& thread() { return current != nullptr ? *current : attach(); }

  /// Gives what the thread has done to the machine.
  void drain(Thread& thread);

  /// Whether instructions need only be counted for now: what comes before the next window of a
  /// sample, if that is long enough to change QEMU's code for it.
  [[nodiscard]] bool only_counts() const {
    constexpr std::uint64_t worth_it = 200'000;
    return sample_ && sample_->left() >= (counting_ ? 1 : worth_it);
  }
  /// Code that counts takes the place of code that tells everything, or the other way round.
  void counting(bool counts);
  /// The thread has passed as many instructions as it was to, or more.
  void passed(Thread& thread);

  /// The thread enters a system call, and comes back at `until` or later; one that was `blocked`
  /// not before the thread that woke it.
  void leave(Thread& thread);
  void come(Thread& thread, Tick until, bool blocked);
  /// The thread tells the simulator something, which takes no time.
  void hear(Thread& thread);
  void end_thread(Thread& thread);

  [[nodiscard]] Tick now(Thread& thread);
  /// The thread does something that takes so long; then it is that late.
  Tick pass(Thread& thread, Tick span);
  /// How long the thread, or all of the process's programs, have been doing something.
  [[nodiscard]] Tick busy(Thread& thread);
  [[nodiscard]] Tick busy();
  /// The same of children that have ended and were waited for.
  [[nodiscard]] Tick busy_children();
  void waited_for(const Messages::Usage& child);

  /// Other processes' clocks.
  [[nodiscard]] Messages& messages() { return messages_; }

  /// The guest's memory changes. A file in the persistent directory is written back by
  /// synchronised().
  void mapped(std::uint64_t address, std::uint64_t bytes, Mapping kind);
  void unmapped(std::uint64_t address, std::uint64_t bytes);
  void remapped(std::uint64_t from, std::uint64_t from_bytes, std::uint64_t to,
                std::uint64_t to_bytes);
  /// brk: the heap goes on to there.
  void heap_ends(std::uint64_t end);
  void synchronised(Thread& thread, std::uint64_t address, std::uint64_t bytes);

  void begin_region();
  void end_region();

  /// Facts that are stated with the result: QEMU met an AVX-512 instruction; a program was
  /// executed without being seen.
  void note_avx512(std::uint64_t pc);
  void note_native(const std::string& program);

  /// The program ends: the result is written. `signal` is what ends it, if one does; if another
  /// takes its place, the process `goes_on`.
  void end(int signal = 0) { finish(signal, false); }
  void goes_on() { finish(0, true); }

  /// fork(): hold still meanwhile; then go on as a process of its own, with an empty machine.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  struct Range {
    Address begin;
    Bytes bytes = 0;
  };

  /// Does something under the lock. No exception may cross QEMU's code: what goes wrong ends the
  /// program.
  template <typename Do>
  auto guarded(const Do& action) {
    try {
      return action();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  template <typename Do>
  auto alone(const Do& action) {
    const std::lock_guard lock(mutex_);
    return guarded(action);
  }
  Thread& attach();
  void find_names();
  void tell_loaded();
  void simulate(Thread& thread);
  /// `checked`: by the machine that checks a sample, alone.
  enum class Use : std::uint8_t { skipped, checked, executed };
  Use use_of(Thread& thread, std::uint64_t instructions);
  Use sampled(Thread& thread, std::uint64_t instructions);
  void skip(Thread& thread);
  [[noreturn]] void refuse(const std::string& why);
  /// Why the rest of the trace could not be handed over; nothing if it was.
  std::string flush_trace();
  [[noreturn]] void fail(const std::string& why);
  [[nodiscard]] std::unique_ptr<Engine> make_engine() const;
  [[nodiscard]] std::unique_ptr<TraceRecorder> make_recorder() const;
  [[nodiscard]] trace::Header trace_header() const;
  [[nodiscard]] TraceRecorder::Take trace_taker() const;
  void forget_persistent(std::uint64_t address, std::uint64_t bytes);
  void finish(int signal, bool goes_on);
  /// Ends the process as SIGTERM would if the program let it, with the result so far.
  void stop();
  [[nodiscard]] Tick busy_threads() const;
  [[nodiscard]] Tick last_clock() const;
  /// For a process that is killed: the result so far, every half second.
  void write_now_and_then();
  void write_locked(bool final, int signal, const std::string& error);
  /// Whether what is executed is simulated.
  [[nodiscard]] bool watched() const;
  void enter(Window::Part part, Thread& thread);
  void begin_counts();

  // The host thread's guest thread. In the initial thread-local block: a call for each access
  // would cost as much as the callback.
  static thread_local Thread* current __attribute__((tls_model("initial-exec")));

  std::string folder_;
  Settings options_;
  std::uint64_t number_;
  std::string called_;
  std::string file_;
  bool regions_only_;
  bool finds_pointers_;
  Window window_;
  std::optional<Sample> sample_;
  bool counting_ = false;
  std::uint64_t skipped_ = 0;  ///< instructions that the engine has not been told of
  SharedTable table_;
  Messages messages_;
  Messages::Usage before_;  ///< times of the programs that this process executed before, and
                            ///< of all its children
  std::mutex mutex_;
  Gate gate_;
  std::vector<Range> persistent_;  ///< outlives the engine, which a fork replaces
  Range heap_;
  std::unique_ptr<Engine> engine_;
  std::deque<Thread> threads_;
  Tick start_;
  int regions_ = 0;
  std::uint64_t regions_begun_ = 0;
  std::uint64_t avx512_pc_ = 0;
  bool ended_ = false;    ///< the last result is written
  bool stopped_ = false;  ///< before the program's end
  std::string native_;
  std::uint64_t natives_ = 0;
  std::uint64_t drains_ = 0;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
  StopWatch stop_watch_;
};

}  // namespace nearfar::frontend::qemu
