#include "sim/cpu/cores.h"

#include <algorithm>

#include "sim/cpu/simple_core.h"
#include "sim/cpu/window_core.h"

namespace nearfar::sim::cpu {

Cores::Thread Cores::add(Tick at) {
  Running running;
  if (config_.kind == CoreConfig::Kind::simple) {
    running.core = std::make_unique<SimpleCore>(socket_, config_, pages_);
  } else {
    running.core = std::make_unique<WindowCore>(socket_, config_, pages_);
  }
  running.core->skip_to(max(at, socket_.now()));
  running.pace = config_.period.ps() / config_.width;
  running.paced_at = running.core->clock();
  threads_.push_back(std::move(running));
  return static_cast<Thread>(threads_.size() - 1);
}

void Cores::feed(Thread thread, const Block& block, std::span<const Access> accesses) {
  Running& running = threads_[thread];
  // Alone, and with nothing before it: no need to keep it.
  if (threads_.size() == 1 && running.input.empty()) {
    while (true) {
      keep_up(running);
      if (running.core->play(block, accesses)) return;
      step(Tick::never());
    }
  }
  running.input.push_back(
      {.block = &block, .first_access = running.accesses.size(), .accesses = accesses.size()});
  running.accesses.insert(running.accesses.end(), accesses.begin(), accesses.end());
  running.waiting += block.instructions.size();
}

void Cores::flush(Thread thread, Address address, Bytes bytes, bool keep) {
  if (bytes == 0) return;
  const Address first = address.aligned_down(line_bytes);
  threads_[thread].input.push_back(
      {.address = first, .bytes = address + bytes - first, .keep = keep});
}

void Cores::leave(Thread thread) { threads_[thread].runs = false; }

void Cores::come_back(Thread thread, Tick at) {
  Running& running = threads_[thread];
  running.runs = true;
  running.core->skip_to(max(at, socket_.now()));
  // Being elsewhere is no pace.
  running.paced_at = running.core->clock();
  running.paced = 0;
}

Tick Cores::clock(Thread thread) const {
  const Running& running = threads_[thread];
  return max(running.core->clock(), running.core->retired()) +
         Tick(running.waiting * config_.period.ps() / config_.width);
}

/// The thread that plays next, if any runs that does not wait for an event.
Cores::Running* Cores::behind() {
  Running* first = nullptr;
  for (Running& thread : threads_) {
    if (thread.blocked || (!thread.runs && thread.input_at == thread.input.size())) continue;
    if (first == nullptr || thread.core->clock() < first->core->clock()) first = &thread;
  }
  return first;
}

void Cores::play() {
  while (true) {
    Running* const next = behind();
    const bool anyone_blocked = std::any_of(threads_.begin(), threads_.end(),
                                            [](const Running& thread) { return thread.blocked; });
    if (anyone_blocked && step(next == nullptr ? Tick::never() : next->core->clock())) continue;
    if (next == nullptr || next->input_at == next->input.size()) return;
    keep_up(*next);
    next->blocked = !play_one(*next);
  }
}

/// Events that nobody waits for happen, too, when their time has long come. The quantum has no say
/// in it: it is how much waits for other threads, and changes no time.
void Cores::keep_up(const Running& thread) {
  constexpr Tick long_ago(1'000'000);
  while (socket_.now() + long_ago < thread.core->clock() && socket_.busy()) {
    step(thread.core->clock());
  }
}

/// Whatever happens may be what somebody waits for.
bool Cores::step(Tick until) {
  if (!socket_.step(until)) return false;
  for (Running& thread : threads_) thread.blocked = false;
  if (after_) after_();
  return true;
}

bool Cores::play_one(Running& thread) {
  Input& input = thread.input[thread.input_at];
  if (input.block == nullptr) {
    if (!play_flush(thread, input)) return false;
  } else {
    const std::span accesses(thread.accesses);
    if (!thread.core->play(*input.block, accesses.subspan(input.first_access, input.accesses))) {
      return false;
    }
    thread.waiting -= input.block->instructions.size();
    follow_pace(thread, input.block->instructions.size());
  }
  ++thread.input_at;
  forget_played(thread);
  return true;
}

void Cores::follow_pace(Running& thread, std::uint64_t instructions) {
  constexpr std::uint64_t enough = 64;
  thread.paced += instructions;
  if (thread.paced < enough) return;
  const Tick now = thread.core->clock();
  thread.pace = (now - thread.paced_at).ps() / thread.paced;
  thread.paced_at = now;
  thread.paced = 0;
}

bool Cores::play_flush(Running& thread, Input& flush) {
  while (flush.bytes != 0) {
    if (!thread.core->flush_line(flush.address, flush.keep)) return false;
    flush.address = flush.address + line_bytes;
    flush.bytes -= std::min(flush.bytes, line_bytes);
  }
  return true;
}

void Cores::forget_played(Running& thread) {
  constexpr std::size_t many = 4096;
  if (thread.input_at != thread.input.size() && thread.input_at < many) return;
  const std::size_t accesses = thread.input_at == thread.input.size()
                                   ? thread.accesses.size()
                                   : thread.input[thread.input_at].first_access;
  thread.accesses.erase(thread.accesses.begin(),
                        thread.accesses.begin() + static_cast<std::ptrdiff_t>(accesses));
  thread.input.erase(thread.input.begin(),
                     thread.input.begin() + static_cast<std::ptrdiff_t>(thread.input_at));
  for (Input& input : thread.input) input.first_access -= accesses;
  thread.input_at = 0;
}

bool Cores::catch_up(Thread index) {
  const Running& thread = threads_[index];
  while (!caught_up(index)) {
    play();
    if (caught_up(index)) return true;
    if (thread.input_at != thread.input.size() && !thread.blocked) return false;
    // What it waits for may be the others' to bring about, no later than the first of them acts.
    Tick until = Tick::never();
    for (const Running& other : threads_) {
      if (&other != &thread && !other.blocked && other.runs)
        until = min(until, other.core->clock());
    }
    if (!step(until)) return false;
  }
  return true;
}

void Cores::bring_memory_up() {
  Tick least = Tick::never();
  for (const Running& thread : threads_) {
    if (thread.runs) least = min(least, thread.core->clock());
  }
  while (!least.is_never() && socket_.now() < least) step(least);
}

void Cores::forget_counts() {
  for (Running& thread : threads_) thread.core->forget_counts();
}

}  // namespace nearfar::sim::cpu
