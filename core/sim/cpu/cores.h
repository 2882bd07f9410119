#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/cpu/core.h"
#include "sim/cpu/socket.h"

namespace nearfar::sim::cpu {

/// The threads of a program, each on a core of its own, before a shared L3 and memory.
///
/// What a thread does is fed in blocks, and waits here until its time has come: of the threads
/// that run, the one whose clock is behind plays its next block, and nobody plays before it when
/// there is none yet. So the times of all threads depend on what each of them does and on nothing
/// else: neither on who feeds first nor in how many pieces. What waits here is how far a thread is
/// ahead of the others; its feeder should hold when ahead() says so.
class Cores {
 public:
  using Thread = std::uint32_t;

  Cores(Socket& socket, const CoreConfig& config, PageMap& pages)
      : socket_(socket), config_(config), pages_(pages) {}

  /// A thread that begins at `at`, or now if that is past, and runs.
  Thread add(Tick at = Tick{});
  /// Is called after every instant at which something happened.
  void after_each(std::function<void()> then) { after_ = std::move(then); }

  /// What the thread does next. `block` must stay as it is until played.
  void feed(Thread thread, const Block& block, std::span<const Access> accesses);
  /// Writes back the lines of so many bytes, as clwb would.
  void flush(Thread thread, Address address, Bytes bytes, bool keep);

  /// The thread is elsewhere (in the kernel): nobody waits for it. What was fed is still played.
  void leave(Thread thread);
  /// And back, no earlier than `at`.
  void come_back(Thread thread, Tick at = Tick{});

  /// Plays what can be played.
  void play();

  /// Whether more than a quantum's worth of the thread's blocks waits here, at its latest pace.
  [[nodiscard]] bool ahead(Thread thread) const {
    const Running& running = threads_[thread];
    return running.waiting > always_fed && running.waiting * running.pace > config_.quantum.ps();
  }
  /// Whether everything that was fed has retired.
  [[nodiscard]] bool caught_up(Thread thread) const {
    const Running& running = threads_[thread];
    return running.input_at == running.input.size() && running.core->drained();
  }
  /// Plays until caught_up(): false if another thread's input is missing for that.
  bool catch_up(Thread thread);

  /// Plays memory up to where the running thread that is furthest behind has come, although nobody
  /// waits for it.
  void bring_memory_up();

  /// How far the thread has got; what waits here is taken to need no more than the core's width.
  [[nodiscard]] Tick clock(Thread thread) const;
  [[nodiscard]] std::size_t size() const { return threads_.size(); }
  [[nodiscard]] const Core& core(Thread thread) const { return *threads_[thread].core; }
  void forget_counts();

 private:
  struct Input {
    const Block* block = nullptr;  ///< none: a flush
    Address address{};
    Bytes bytes = 0;
    bool keep = false;
    std::size_t first_access = 0;
    std::size_t accesses = 0;
  };
  struct Running {
    std::unique_ptr<Core> core;
    std::vector<Input> input;
    std::vector<Access> accesses;
    std::size_t input_at = 0;
    std::uint64_t waiting = 0;  ///< instructions in `input`
    std::uint64_t pace = 0;  ///< ps an instruction, of the latest
    Tick paced_at{};  ///< where the core was when that was found
    std::uint64_t paced = 0;  ///< instructions since
    bool runs = true;
    bool blocked = false;
  };

  /// So few instructions may wait however slow they are: handing over to another thread after
  /// each would cost the host more than it is worth.
  static constexpr std::uint64_t always_fed = 100;

  [[nodiscard]] Running* behind();
  bool play_one(Running& thread);
  bool play_flush(Running& thread, Input& flush);
  static void follow_pace(Running& thread, std::uint64_t instructions);
  void forget_played(Running& thread);
  void keep_up(const Running& thread);
  bool step(Tick until);

  Socket& socket_;
  CoreConfig config_;
  PageMap& pages_;
  std::vector<Running> threads_;
  std::function<void()> after_;
};

}  // namespace nearfar::sim::cpu
