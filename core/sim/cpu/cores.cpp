#include "sim/cpu/cores.h"

#include <algorithm>

#include "sim/cpu/simple_core.h"
#include "sim/cpu/window_core.h"

namespace nearfar::sim::cpu {

Cores::Thread Cores::add(Tick at) {
  const auto thread = static_cast<Thread>(threads_.size());
  const bool again = !free_.empty();
  const std::size_t on = again ? free_.front() : make_core();
  threads_.push_back({.on = on, .at = max(at, socket_.now())});
  Running& running = running_[on];
  running.runs = true;
  if (again) {
    free_.pop_front();
    running.input.push_back(
        {.kind = Input::Kind::begin, .thread = thread, .first_access = running.accesses.size()});
  } else {
    begin(running, thread);
  }
  return thread;
}

std::size_t Cores::make_core() {
  Running running;
  if (config_.kind == CoreConfig::Kind::simple) {
    running.core = std::make_unique<SimpleCore>(socket_, config_, pages_);
  } else {
    running.core = std::make_unique<WindowCore>(socket_, config_, pages_);
  }
  running.pace = config_.period.ps() / config_.width;
  running_.push_back(std::move(running));
  return running_.size() - 1;
}

/// The thread has the core from now on.
void Cores::begin(Running& running, Thread thread) {
  running.thread = thread;
  running.core->skip_to(threads_[thread].at, Cause::away);
  running.paced_at = running.core->clock();
  running.paced = 0;
}

void Cores::feed(Thread thread, const Block& block, std::span<const Access> accesses) {
  Running& running = running_[threads_[thread].on];
  // Alone, and with nothing before it: no need to keep it.
  if (running_.size() == 1 && running.input.empty()) {
    while (true) {
      keep_up(running);
      if (play_block(running, block, accesses)) return;
      if (running.core->looks_ahead()) break;
      step(Tick::never());
    }
  }
  wait_here(running, thread, block, accesses);
  if (running_.size() == 1 && running.core->looks_ahead()) play();
}

void Cores::wait_here(Running& running, Thread thread, const Block& block,
                      std::span<const Access> accesses) {
  running.input.push_back({.thread = thread,
                           .block = &block,
                           .first_access = running.accesses.size(),
                           .accesses = accesses.size()});
  running.accesses.insert(running.accesses.end(), accesses.begin(), accesses.end());
  ++threads_[thread].inputs;
  threads_[thread].waiting += block.instructions.size();
}

/// Shows a core that looks ahead what has been fed, once that is as much as its reorder buffer
/// holds or all for now; whether it has seen it. How much that is depends on what the thread does
/// alone: it does not look beyond what holds back all that comes later, as a system call, before
/// which a feeder may have to know the time.
bool Cores::show_ahead(Running& running) {
  const std::size_t enough = config_.rob;
  upcoming_.clear();
  if (gate_ != nullptr) {
    running.core->look_ahead({});  // it would come to pages that have to be brought in first
    return true;
  }
  std::size_t seen = 0;
  std::size_t at = running.input_at;
  const std::span<const Access> accesses(running.accesses);
  bool all = !running.runs || running.catches_up;
  for (; at != running.input.size() && seen < enough; ++at) {
    const Input& input = running.input[at];
    if (input.kind != Input::Kind::block) {
      all = true;
      break;
    }
    upcoming_.push_back({input.block, accesses.subspan(input.first_access, input.accesses)});
    seen += input.block->instructions.size();
    if (input.block->instructions.holds_back()) {
      all = true;
      break;
    }
  }
  if (seen < enough && !all) return false;
  running.core->look_ahead(upcoming_);
  return true;
}

void Cores::flush(Thread thread, Address address, Bytes bytes, bool keep) {
  if (bytes == 0) return;
  const Address first = address.aligned_down(line_bytes);
  Running& running = running_[threads_[thread].on];
  ++threads_[thread].inputs;
  running.input.push_back({.kind = Input::Kind::flush,
                           .thread = thread,
                           .address = first,
                           .bytes = address + bytes - first,
                           .keep = keep,
                           .first_access = running.accesses.size()});
}

void Cores::leave(Thread thread) { running_[threads_[thread].on].runs = false; }

void Cores::end(Thread thread) {
  leave(thread);
  free_.push_back(threads_[thread].on);
}

void Cores::come_back(Thread thread, Tick at) {
  Known& known = threads_[thread];
  Running& running = running_[known.on];
  running.runs = true;
  if (!plays(thread)) {
    known.at = max(known.at, max(at, socket_.now()));
    return;
  }
  running.core->skip_to(max(at, socket_.now()), Cause::away);
  // Being elsewhere is no pace.
  running.paced_at = running.core->clock();
  running.paced = 0;
}

Tick Cores::clock(Thread thread) const {
  const Known& known = threads_[thread];
  if (known.over) return known.clock;
  const Core& core = *running_of(thread).core;
  return max(plays(thread) ? Tick{} : known.at, max(core.clock(), core.retired())) +
         Tick(known.waiting * config_.period.ps() / config_.width);
}

/// The core that plays next, if any runs that does not wait for an event.
Cores::Running* Cores::behind() {
  Running* first = nullptr;
  for (Running& running : running_) {
    if (running.blocked || (!running.runs && running.input_at == running.input.size())) continue;
    if (first == nullptr || running.core->clock() < first->core->clock()) first = &running;
  }
  return first;
}

void Cores::play() {
  while (true) {
    Running* const next = behind();
    const bool anyone_blocked = std::any_of(running_.begin(), running_.end(),
                                            [](const Running& one) { return one.blocked; });
    if (anyone_blocked && step(next == nullptr ? Tick::never() : next->core->clock())) continue;
    if (next == nullptr || next->input_at == next->input.size()) return;
    keep_up(*next);
    if (next->core->looks_ahead() && !show_ahead(*next)) return;
    next->blocked = !play_one(*next) && !next->core->looks_ahead();
  }
}

/// Events that no thread waits for happen, too, when their time has long come. The quantum does not
/// matter here: it bounds how much waits for other threads, and changes no time.
void Cores::keep_up(const Running& running) {
  constexpr Tick long_ago(1'000'000);
  while (socket_.now() + long_ago < running.core->clock() && socket_.busy()) {
    step(running.core->clock());
  }
}

/// A thread may wait for what happens here.
bool Cores::step(Tick until) {
  if (!socket_.step(until)) return false;
  for (Running& running : running_) running.blocked = false;
  if (after_) after_();
  return true;
}

bool Cores::play_one(Running& running) {
  Input& input = running.input[running.input_at];
  Known& known = threads_[input.thread];
  switch (input.kind) {
    case Input::Kind::begin: {
      if (!running.core->drained()) return false;
      Known& before = threads_[running.thread];
      before.clock = clock(running.thread);
      before.retired = running.core->retired();
      before.counts = running.core->counts();
      before.over = true;
      running.core->forget_counts();
      begin(running, input.thread);
      break;
    }
    case Input::Kind::flush:
      if (!play_flush(running, input)) return false;
      --known.inputs;
      break;
    case Input::Kind::block: {
      const std::span accesses(running.accesses);
      if (!play_block(running, *input.block,
                      accesses.subspan(input.first_access, input.accesses))) {
        return false;
      }
      --known.inputs;
      known.waiting -= input.block->instructions.size();
      follow_pace(running, input.block->instructions.size());
      break;
    }
  }
  ++running.input_at;
  forget_played(running);
  return true;
}

bool Cores::play_block(Running& running, const Block& block, std::span<const Access> accesses) {
  if (gate_ != nullptr && !running.passed && !pass_gate(running, block, accesses)) return false;
  if (!running.core->play(block, accesses)) return false;
  running.passed = false;
  return true;
}

bool Cores::pass_gate(Running& running, const Block& block, std::span<const Access> accesses) {
  Core& core = *running.core;
  const auto number = static_cast<Socket::Core>(&running - running_.data());
  const std::optional<Tick> begin =
      gate_->pass(number, block, accesses, max(core.clock(), core.retired()), core.drained());
  if (!begin) return false;
  if (*begin != Tick{}) core.skip_to(*begin, Cause::paging);
  return running.passed = true;
}

void Cores::follow_pace(Running& running, std::uint64_t instructions) {
  constexpr std::uint64_t enough = 64;
  running.paced += instructions;
  if (running.paced < enough) return;
  const Tick now = running.core->clock();
  running.pace = (now - running.paced_at).ps() / running.paced;
  running.paced_at = now;
  running.paced = 0;
}

bool Cores::play_flush(Running& running, Input& flush) {
  while (flush.bytes != 0) {
    Bytes done = line_bytes;
    if (!pages_.find(flush.address)) {  // nothing of the page was ever touched
      done = Tlb::small_page - flush.address.value() % Tlb::small_page;
    } else if (!running.core->flush_line(flush.address, flush.keep)) {
      return false;
    }
    flush.address = flush.address + done;
    flush.bytes -= std::min(flush.bytes, done);
  }
  return true;
}

void Cores::forget_played(Running& running) {
  constexpr std::size_t many = 4096;
  if (running.input_at != running.input.size() && running.input_at < many) return;
  const std::size_t accesses = running.input_at == running.input.size()
                                   ? running.accesses.size()
                                   : running.input[running.input_at].first_access;
  running.accesses.erase(running.accesses.begin(),
                         running.accesses.begin() + static_cast<std::ptrdiff_t>(accesses));
  running.input.erase(running.input.begin(),
                      running.input.begin() + static_cast<std::ptrdiff_t>(running.input_at));
  for (Input& input : running.input) input.first_access -= accesses;
  running.input_at = 0;
}

bool Cores::catch_up(Thread thread) {
  Running& running = running_[threads_[thread].on];
  running.catches_up = true;
  const bool done = play_up_to(thread, running);
  running.catches_up = false;
  return done;
}

void Cores::play_fed(Thread thread) {
  Running& running = running_[threads_[thread].on];
  if (!running.core->looks_ahead()) return;
  running.catches_up = true;
  play();
  running.catches_up = false;
}

void Cores::bring_to_rest(Thread thread) {
  catch_up(thread);
  while (!running_of(thread).core->idle() && step(Tick::never())) {
  }
}

void Cores::catch_up_all() {
  for (Running& running : running_) running.catches_up = true;
  for (Thread thread = 0; thread < threads_.size(); ++thread)
    (void)play_up_to(thread, running_of(thread));
  for (Running& running : running_) running.catches_up = false;
}

bool Cores::play_up_to(Thread thread, const Running& running) {
  while (!caught_up(thread)) {
    play();
    if (caught_up(thread)) return true;
    if (running.input_at != running.input.size() && !running.blocked) return false;
    // What it waits for may be the others' to bring about, no later than the first of them acts.
    Tick until = Tick::never();
    for (const Running& other : running_) {
      if (&other != &running && !other.blocked && other.runs)
        until = min(until, other.core->clock());
    }
    if (!step(until)) return false;
  }
  return true;
}

void Cores::bring_memory_up() {
  Tick least = Tick::never();
  for (const Running& running : running_) {
    if (running.runs) least = min(least, running.core->clock());
  }
  while (!least.is_never() && socket_.now() < least) step(least);
}

void Cores::bring_memory_to_rest() {
  while (socket_.busy()) step(Tick::never());
}

void Cores::forget_counts() {
  for (Running& running : running_) running.core->forget_counts();
  for (Known& known : threads_) known.counts = {};
}

}  // namespace nearfar::sim::cpu
