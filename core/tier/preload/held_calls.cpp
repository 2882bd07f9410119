// System calls under --sigbus. A call that finds a page of its buffers far fails there, so all of
// them come in before it, and eviction passes over them until it is over.
//
// A call may wait for minutes and hold little meanwhile: a buffer to read into, a list of events.
// Where all calls together hold a quarter of near memory, those that have done nothing when they
// fail with EFAULT hold nothing any more, and are made again instead. Long buffers of files are
// read and written in pieces.

#include "tier/preload/held_calls.h"

#include <signal.h>

#include <algorithm>

#include "tier/preload/exported.h"
#include "tier/preload/repeatable_calls.h"
#include "tier/preload/runtime.h"
#include "tier/preload/signal_arguments.h"

extern "C" {
/// Also read by syscall.cpp's assembly.
bool nearfar_holds_calls __attribute__((visibility("hidden"))) = false;
}

namespace nearfar::tier::preload {
namespace {

constexpr int most_tries = 64;

struct OfThread {
  int number = 0;  // 0: not known yet
  std::size_t ranges = 0;  // that it holds
  std::size_t last = 0;  // where in the list the last one was
};
[[gnu::tls_model("initial-exec")]] constinit thread_local OfThread of_thread;

/// A child that shares the memory of the thread that made it (vfork) has that thread's variables,
/// too, and must not leave its own number in them.
int this_thread(const Runtime& tier) {
  if (of_thread.number != 0) return of_thread.number;
  const int number = static_cast<int>(os::call(__NR_gettid));
  if (os::call(__NR_getpid) == tier.service.process()) of_thread.number = number;
  return number;
}

/// Whether the program may read the page, which is there if so. The kernel reads a set of signals
/// there before it finds that it is to do nothing with it.
bool is_readable(os::Place page) {
  constexpr int nothing = 77;
  constexpr long bytes = 8;
  return os::call(__NR_rt_sigprocmask, nothing, os::word(page), 0, bytes) != -EFAULT;
}

bool is_accessible(Runtime& tier, os::Place page) {
  if (!tier.space.has(page)) return false;
  return !tier.space.protects() || (tier.space.protections().of(page) & PROT_READ) != 0;
}

/// Brings in a page of managed addresses, if the program has one there that it may use.
void bring_in_slowly(Runtime& tier, os::Place page) {
  UnmanagedFault last;
  while (!is_readable(page) && is_accessible(tier, page)) {
    const os::SignalsBlocked blocked;
    if (!tier.service.fault(page, os::Touch::read, last)) return;
  }
}

void bring_in(Runtime& tier, os::Place begin, os::Place end) {
  const bool may_touch = !tier.space.protects();
  for (os::Place page = begin; page < end; page += os::page_bytes) {
    if (may_touch && tier.pager.is_used(page)) {
      (void)*os::pointer<volatile char>(page);  // the handler of SIGBUS sees to the rest
    } else {
      bring_in_slowly(tier, page);
    }
  }
}

/// A thread that is cancelled while it makes a call leaves behind what that has held.
void release_of_ended(Runtime& tier) {
  int ended = 0;
  int alive = 0;
  tier.pager.held().remove_if([&](int thread, const HeldRanges::Range&) {
    if (thread == ended) return true;
    if (thread == alive) return false;
    const bool is_gone = os::call(__NR_kill, thread, 0) == -ESRCH;
    (is_gone ? ended : alive) = thread;
    return is_gone;
  });
}

/// The memory of one call, whose frame on the stack is given.
class CallMemory final : public BufferSink {
 public:
  CallMemory(Runtime& tier, os::Place frame, bool holds)
      : tier_(tier), frame_(frame), holds_(holds) {}
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;
  ~CallMemory() { release(); }

  [[nodiscard]] bool may_be_far(os::Place at) const override { return tier_.space.holds(at, 1); }
  void add(os::Place at, std::size_t bytes) override;
  [[nodiscard]] bool make_readable(os::Place at, std::size_t bytes) override;

  /// Brings in what is held.
  void bring_in_all();
  /// Whether some of it is not held, and may have become far meanwhile.
  [[nodiscard]] bool may_have_left() const { return may_have_left_; }

 private:
  [[nodiscard]] HeldRanges::Range* take(os::Place begin, os::Place end);
  void release();

  Runtime& tier_;
  os::Place frame_;
  bool holds_;
  bool may_have_left_ = false;
  HeldRanges::Range* first_ = nullptr;
};

struct WholePages {
  os::Place begin;
  os::Place end;
};
WholePages whole(os::Place at, std::size_t bytes) {
  return {at / os::page_bytes * os::page_bytes,
          (at + bytes + os::page_bytes - 1) / os::page_bytes * os::page_bytes};
}

void CallMemory::add(os::Place at, std::size_t bytes) {
  if (at == 0 || bytes == 0 || !tier_.space.touches(at, bytes)) return;
  const os::Place behind = at + bytes < at ? tier_.space.end() : at + bytes;
  const os::Place from = std::max(at, tier_.space.base());
  const auto [begin, end] = whole(from, std::min(behind, tier_.space.end()) - from);
  if (!holds_) {
    may_have_left_ = true;
    bring_in(tier_, begin, end);
    return;
  }
  if (first_ != nullptr && begin >= first_->begin.load() && begin <= first_->end.load()) {
    if (end > first_->end.load()) first_->end.store(end);
    return;
  }
  HeldRanges::Range* const range = take(begin, end);
  range->next = first_;
  first_ = range;
  of_thread.last = tier_.pager.held().position(*range);
}

/// Without memory for one range more, others' calls have to end first.
HeldRanges::Range* CallMemory::take(os::Place begin, os::Place end) {
  ++of_thread.ranges;  // before: a signal's handler may come, and look
  for (;;) {
    HeldRanges::Range* const range =
        tier_.pager.held().add(begin, end, this_thread(tier_), frame_, of_thread.last);
    if (range != nullptr) return range;
    release_of_ended(tier_);
    os::call(__NR_sched_yield);
  }
}

bool CallMemory::make_readable(os::Place at, std::size_t bytes) {
  return may_be_read(tier_, at, bytes);
}

void CallMemory::bring_in_all() {
  if (first_ == nullptr) return;
  tier_.service.wait_for_leaving_pages();
  for (const HeldRanges::Range* range = first_; range != nullptr; range = range->next)
    bring_in(tier_, range->begin.load(), range->end.load());
}

void CallMemory::release() {
  while (first_ != nullptr) {
    HeldRanges::Range& range = *first_;
    first_ = range.next;
    // In a child that was forked meanwhile it is not there any more.
    if (range.thread.load() != this_thread(tier_) || range.frame.load() != frame_) continue;
    if (of_thread.ranges != 0) --of_thread.ranges;
    HeldRanges::remove(range);
  }
}

long plain_call(long number, const Words& words) {
  return nearfar_program_call(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/// Whether what calls hold is so much that others should hold nothing.
bool is_much_held(Runtime& tier) {
  constexpr std::uint32_t seldom = 64;
  static std::atomic<std::uint32_t> times{0};
  const std::size_t most = tier.control.limit_pages / 4;
  if (tier.pager.held().pages() <= most) return false;
  if (times.fetch_add(1, std::memory_order_relaxed) % seldom == 0) release_of_ended(tier);
  return tier.pager.held().pages() > most;
}

[[gnu::noinline]] long call_with_memory(Runtime& tier, long number, const Words& words) {
  const os::Place frame = os::place(__builtin_frame_address(0));
  const bool may_be_made_again =
      fails_first(number, words) || (is_much_held(tier) && may_be_repeated(number, words));
  for (int tries = 0;; ++tries) {
    CallMemory memory(tier, frame, !may_be_made_again || tries == most_tries);
    find_buffers(number, words, memory);
    memory.bring_in_all();
    const long result = plain_call(number, words);
    if (result != -EFAULT || !memory.may_have_left()) return result;
  }
}

/// Reads or writes that are as good in pieces: all of files', and writes to what takes bytes as
/// they come. Of a read from a pipe or a socket, the first piece.
long call_in_pieces(Runtime& tier, long number, Words words, std::size_t piece) {
  const bool writes = number == __NR_write || number == __NR_pwrite64;
  const bool of_place = number == __NR_pread64 || number == __NR_pwrite64;
  const bool of_file = is_file(words[0]);
  const bool takes_bytes = of_file ? !writes || !appends(words[0]) : is_byte_stream(words[0]);
  if (!takes_bytes) return call_with_memory(tier, number, words);
  const auto all = static_cast<std::size_t>(words[2]);
  std::size_t done = 0;
  while (done < all) {
    const std::size_t asked = std::min(piece, all - done);
    words[2] = os::word(asked);
    const long result = call_with_memory(tier, number, words);
    if (result < 0) return done != 0 ? os::word(done) : result;
    done += static_cast<std::size_t>(result);
    if (static_cast<std::size_t>(result) < asked || (!writes && !of_file)) break;
    words[1] += result;
    if (of_place) words[3] += result;
  }
  return os::word(done);
}

/// A signal's handler that runs on this stack would find it far.
void keep_signal_stack_near(Runtime& tier, long given) {
  const auto* const stack = os::pointer<const stack_t>(static_cast<os::Place>(given));
  if (stack == nullptr || (stack->ss_flags & SS_DISABLE) != 0) return;
  const auto [begin, end] = whole(os::place(stack->ss_sp), stack->ss_size);
  if (tier.space.holds(begin, end - begin))
    tier.service.ask({.kind = Request::Kind::keep_near, .begin = begin, .end = end});
}

long call_of_program(Runtime& tier, long number, const Words& words) {
  constexpr std::size_t least = 16 * os::page_bytes;
  switch (number) {
    case __NR_read:
    case __NR_write:
    case __NR_pread64:
    case __NR_pwrite64: {
      const auto bytes = static_cast<std::size_t>(words[2]);
      const std::size_t piece = std::max(least, tier.control.limit_pages / 16 * os::page_bytes);
      if (words[2] > 0 && bytes > piece &&
          tier.space.touches(static_cast<os::Place>(words[1]), bytes))
        return call_in_pieces(tier, number, words, piece);
      return call_with_memory(tier, number, words);
    }
    case __NR_io_uring_setup:  // the kernel's own threads would touch memory at any time
      return -EPERM;
    case __NR_sigaltstack: {
      const long result = call_with_memory(tier, number, words);
      if (result == 0) keep_signal_stack_near(tier, words[0]);
      return result;
    }
    default:
      return call_with_memory(tier, number, words);
  }
}

bool is_on_signal_stack() {
  stack_t now{};
  return os::call(__NR_sigaltstack, 0, os::word(&now)) == 0 && (now.ss_flags & SS_ONSTACK) != 0;
}

/// A signal's handler that leaves a call by a jump never comes back to release what it holds: its
/// frame was where a later one is.
void release_left(Runtime& tier, os::Place frame) {
  if (is_on_signal_stack()) return;
  const int own = this_thread(tier);
  std::size_t kept = 0;
  tier.pager.held().remove_if([&](int thread, const HeldRanges::Range& range) {
    if (thread != own) return false;
    const os::Place of_call = range.frame.load();
    const bool is_left = of_call != 0 && of_call <= frame;
    if (!is_left) ++kept;
    return is_left;
  });
  of_thread.ranges = kept;
}

}  // namespace

bool may_be_read(Runtime& tier, os::Place at, std::size_t bytes) {
  const auto [begin, end] = whole(at, bytes);
  for (os::Place page = begin; page < end; page += os::page_bytes) {
    if (tier.space.holds(page, 1)) bring_in(tier, page, page + os::page_bytes);
    if (!is_readable(page)) return false;
  }
  return true;
}

long make_held_call(long number, const Words& words) noexcept {
  Runtime* const tier = runtime();
  if (tier == nullptr) return plain_call(number, words);
  if (of_thread.ranges != 0) release_left(*tier, os::place(__builtin_frame_address(0)));
  SignalArguments signals;
  Words given = words;
  if (const auto answer = signals.open_to_faults(number, given)) return *answer;
  return call_of_program(*tier, number, given);
}

long call_for_program(long number, const Words& words) noexcept {
  return nearfar_holds_calls ? make_held_call(number, words) : plain_call(number, words);
}

void hold_calls() {
  runtime()->pager.held().reserve();
  nearfar_holds_calls = true;
}

void hold_calls_in_child() {
  if (!nearfar_holds_calls) return;
  of_thread = {};
  runtime()->pager.held().remove_all();
}

}  // namespace nearfar::tier::preload
