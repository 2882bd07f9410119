#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/cpu/core.h"
#include "sim/cpu/socket.h"

namespace nearfar::sim::cpu {

/// Has cores wait before they play a block, when pages have to be brought in for it.
class BlockGate {
 public:
  BlockGate() = default;
  BlockGate(const BlockGate&) = delete;
  BlockGate& operator=(const BlockGate&) = delete;
  virtual ~BlockGate() = default;

  /// Asked before a core plays a block. Nothing: not yet; the core asks again after an event.
  /// Otherwise when the block may begin, at the earliest: Tick{} if the core did not have to wait.
  /// `now` is where the core has got, which has finished everything before the block if it is
  /// `drained`: then it can take a fault.
  virtual std::optional<Tick> pass(Socket::Core core, const Block& block,
                                   std::span<const Access> accesses, Tick now, bool drained) = 0;
};

/// The threads of a program, each on a core of its own, before a shared L3 and memory. A thread
/// that begins takes the core of one that has ended, with what its caches hold; of several the one
/// whose thread ended first. So the order of ends and beginnings alone decides which core a thread
/// gets.
///
/// What a thread does is fed in blocks, and waits here until its time has come: of the threads
/// that run, the one whose clock is behind plays its next block, and no other plays before it when
/// there is none yet. So the times of all threads depend on what each of them does and on nothing
/// else: neither on which is fed first nor in how many pieces. What waits here is how far a thread
/// is ahead of the others; its feeder should hold when ahead() says so.
class Cores {
 public:
  using Thread = std::uint32_t;

  Cores(Socket& socket, const CoreConfig& config, PageMap& pages)
      : socket_(socket), config_(config), pages_(pages) {}

  /// A thread that begins at `at`, or now if that is past, and runs.
  Thread add(Tick at = Tick{});
  /// `gate`, which must outlive the last block, is asked before each.
  void hold_at(BlockGate& gate) { gate_ = &gate; }
  /// Is called after every instant at which something happened.
  void after_each(std::function<void()> then) { after_ = std::move(then); }

  /// What the thread does next. `block` must stay as it is until played.
  void feed(Thread thread, const Block& block, std::span<const Access> accesses);
  /// Writes back the lines of so many bytes, as clwb would.
  void flush(Thread thread, Address address, Bytes bytes, bool keep);

  /// The thread is elsewhere (in the kernel): the others do not wait for it. What was fed is still
  /// played.
  void leave(Thread thread);
  /// And back, no earlier than `at`.
  void come_back(Thread thread, Tick at = Tick{});
  /// The thread has ended. What was fed is still played; then its core is free.
  void end(Thread thread);

  /// Plays what can be played.
  void play();

  /// Whether more than a quantum's worth of the thread's blocks waits here, at its latest pace.
  [[nodiscard]] bool ahead(Thread thread) const {
    const std::uint64_t waiting = threads_[thread].waiting;
    if (running_of(thread).core->looks_ahead() && waiting <= config_.rob) return false;
    return waiting > always_fed && waiting * running_of(thread).pace > config_.quantum.ps();
  }
  /// Whether everything that was fed has retired.
  [[nodiscard]] bool caught_up(Thread thread) const {
    const Known& known = threads_[thread];
    const Running& running = running_[known.on];
    if (known.over) return true;
    return running.thread == thread && known.inputs == 0 && running.core->drained();
  }
  /// Plays until caught_up(): false if another thread's input is missing for that.
  bool catch_up(Thread thread);
  /// Plays what was fed, as far as it waits only to see more: nothing is fed for a while.
  void play_fed(Thread thread);
  /// As catch_up(), and until its core has nothing under way in the TLBs.
  void bring_to_rest(Thread thread);
  /// Catches up with all threads, of which none does anything more for now.
  void catch_up_all();

  /// Plays memory up to where the running thread that is furthest behind has come, although no
  /// thread waits for it.
  void bring_memory_up();
  /// Plays memory until nothing is under way there.
  void bring_memory_to_rest();

  /// How far the thread has got; what waits here is taken to need no more than the core's width.
  [[nodiscard]] Tick clock(Thread thread) const;
  /// Threads that there are or have been; and cores, of which there are as many as there ever were
  /// threads at a time.
  [[nodiscard]] std::size_t size() const { return threads_.size(); }
  [[nodiscard]] std::size_t cores() const { return running_.size(); }
  /// The thread that a core plays.
  [[nodiscard]] Thread thread_on(Socket::Core core) const { return running_[core].thread; }
  [[nodiscard]] Socket::Core core_of(Thread thread) const {
    return static_cast<Socket::Core>(threads_[thread].on);
  }
  /// What the thread's core has counted for it.
  [[nodiscard]] const CoreCounts& counts(Thread thread) const {
    return plays(thread) ? running_of(thread).core->counts() : threads_[thread].counts;
  }
  /// When the thread's last instruction retired, of those that did.
  [[nodiscard]] Tick retired(Thread thread) const {
    return plays(thread) ? running_of(thread).core->retired() : threads_[thread].retired;
  }
  void forget_counts();

 private:
  struct Input {
    enum class Kind : std::uint8_t { block, flush, begin } kind = Kind::block;
    Thread thread = 0;
    const Block* block = nullptr;
    Address address{};  ///< of a flush
    Bytes bytes = 0;
    bool keep = false;
    std::size_t first_access = 0;
    std::size_t accesses = 0;
  };
  /// A core, and what its threads feed it, one after the other.
  struct Running {
    std::unique_ptr<Core> core;
    Thread thread = 0;  ///< that plays; the last to begin may still wait for it to end
    std::vector<Input> input;
    std::vector<Access> accesses;
    std::size_t input_at = 0;
    std::uint64_t pace = 0;  ///< ps an instruction, of the latest
    Tick paced_at{};  ///< where the core was when that was found
    std::uint64_t paced = 0;  ///< instructions since
    bool runs = true;
    bool blocked = false;
    bool passed = false;  ///< the gate lets the next block go
    bool catches_up = false;  ///< no more is fed until all has been played
  };
  /// A thread, and when it is over what it came to.
  struct Known {
    std::size_t on = 0;  ///< core
    Tick at{};  ///< where it begins
    std::uint64_t inputs = 0;  ///< that wait to be played
    std::uint64_t waiting = 0;  ///< instructions in them
    bool over = false;
    CoreCounts counts{};
    Tick clock{};
    Tick retired{};
  };

  /// So few instructions may wait however slow they are: handing over to another thread after
  /// each would cost the host more than it is worth.
  static constexpr std::uint64_t always_fed = 100;

  [[nodiscard]] const Running& running_of(Thread thread) const {
    return running_[threads_[thread].on];
  }
  /// Whether it has its core by now, and still does.
  [[nodiscard]] bool plays(Thread thread) const {
    return !threads_[thread].over && running_of(thread).thread == thread;
  }
  std::size_t make_core();
  void begin(Running& running, Thread thread);
  [[nodiscard]] Running* behind();
  bool play_one(Running& running);
  bool play_block(Running& running, const Block& block, std::span<const Access> accesses);
  bool show_ahead(Running& running);
  void wait_here(Running& running, Thread thread, const Block& block,
                 std::span<const Access> accesses);
  bool pass_gate(Running& running, const Block& block, std::span<const Access> accesses);
  bool play_flush(Running& running, Input& flush);
  static void follow_pace(Running& running, std::uint64_t instructions);
  void forget_played(Running& running);
  void keep_up(const Running& running);
  bool play_up_to(Thread thread, const Running& running);
  bool step(Tick until);

  Socket& socket_;
  CoreConfig config_;
  PageMap& pages_;
  std::vector<Running> running_;
  std::vector<Known> threads_;
  std::deque<std::size_t> free_;  ///< cores, in the order of their threads' ends
  std::function<void()> after_;
  BlockGate* gate_ = nullptr;
  std::vector<Upcoming> upcoming_;
};

}  // namespace nearfar::sim::cpu
