#include "frontend/qemu/process.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "frontend/program_trace.h"
#include "frontend/qemu/loaded.h"
#include "frontend/qemu/touched_pages.h"
#include "frontend/qemu/trace_socket.h"

namespace nearfar::frontend::qemu {
namespace {

std::string read_file(const std::string& path) {
  const std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Instructions that a thread may pass before it is looked at: some ten milliseconds.
constexpr std::uint64_t most_unseen = 10'000'000;

std::optional<Sample> sample_of(const Settings& options) {
  if (!options.has("sample.window")) return std::nullopt;
  return Sample(Sample::Plan::from(options));
}

}  // namespace

thread_local Thread* Process::current = nullptr;

Process::Process(std::string folder, Tick start, std::uint64_t number)
    : folder_(std::move(folder)),
      options_(Settings::parse(read_file(folder_ + "/options"))),
      number_(number),
      regions_only_(options_.flag("regions_only")),
      finds_pointers_(options_.flag("find_pointers")),
      window_(Window::from(options_)),
      sample_(sample_of(options_)),
      table_(folder_ + "/times"),
      messages_(table_),
      engine_(make_engine()),
      start_(start),
      stop_watch_(folder_ + "/stop", [this] { stop(); }) {
  find_names();
  if (number_ != 0) before_ = messages_.usage_of(getpid());
}

std::unique_ptr<Engine> Process::make_engine() const {
  const Tick period = options_.time("period");
  if (options_.name("core") == "count") {
    return make_counting_engine(period, options_.time("quantum"));
  }
  const Settings model = Settings::parse(read_file(folder_ + "/model"));
  if (!options_.has("trace") || options_.name("trace_kind") != "program") {
    auto engine = make_program_engine(model, period, make_recorder());
    if (!sample_) return engine;
    return make_sampled_engine(std::move(engine), make_program_engine(model, period, nullptr),
                               period);
  }
  trace::Header header = trace_header();
  header.timing.clock_ps = period.ps();
  header.layout = {.place = model.name("run.place"),
                   .pages = model.name("run.pages"),
                   .near_bytes = model.has("run.near") ? model.bytes("run.near") : 0};
  return make_recording_engine(make_program_engine(model, period, nullptr), std::move(header),
                               trace_taker());
}

trace::Header Process::trace_header() const {
  return {.target = options_.name("trace_target"),
          .command = options_.name("trace_command"),
          .creator = options_.name("trace_creator")};
}

TraceRecorder::Take Process::trace_taker() const {
  const TraceSocket socket(options_.name("trace"), number_);
  return [socket](std::string_view piece, std::uint64_t records) { socket.send(piece, records); };
}

/// What the program found in its memory, or what a fork has left it.
void Process::tell_loaded() {
  std::ifstream maps("/proc/self/maps");
  for (const Loaded& range : loaded_ranges(maps)) {
    engine_->mapped(range.begin, range.bytes, range.kind);
  }
  if (heap_.bytes != 0) engine_->mapped(heap_.begin, heap_.bytes, Mapping::heap);
  for (const Range& range : persistent_) {
    engine_->mapped(range.begin, range.bytes, Mapping::persistent);
  }
}

/// None unless a trace of what reaches memory is wanted.
std::unique_ptr<TraceRecorder> Process::make_recorder() const {
  if (!options_.has("trace")) return nullptr;
  const Gaps gaps = options_.name("trace_gaps") == "time" ? Gaps::time : Gaps::instructions;
  return std::make_unique<TraceRecorder>(gaps, options_.time("period"), trace_header(),
                                         trace_taker());
}

Thread& Process::attach() {
  alone([&] {
    // Guest threads begin when their creator's clock shows the same: no later than all others.
    const Tick slowest = gate_.slowest();
    const Tick at = slowest.is_never() ? start_ : slowest;
    if (sample_ && !threads_.empty()) {
      refuse(called_ + ": begins a second thread; expected a program of one thread with sample");
    }
    if (threads_.empty()) {
      tell_loaded();
      stop_watch_.start();
    }
    Thread& thread = threads_.emplace_back();
    thread.engine = engine_->add_thread(at);
    thread.gate = gate_.join(at);
    thread.began = at;
    current = &thread;
  });
  return *current;
}

void Process::drain(Thread& thread) {
  std::unique_lock lock(mutex_);
  guarded([&] {
    simulate(thread);
    gate_.stay(lock, thread.gate, engine_->clock(thread.engine),
               [&](Tick slowest) { return engine_->ahead(thread.engine, slowest); });
    // Looking at the clock each time would cost more than counting does.
    if (++drains_ % 1024 == 0) write_now_and_then();
  });
}

void Process::write_now_and_then() {
  if (std::chrono::steady_clock::now() - written_ > std::chrono::milliseconds(500)) {
    write_locked(false, 0, {});
  }
}

void Process::simulate(Thread& thread) {
  if (sample_) {
    const std::uint64_t unseen = thread.passing.take();
    sample_->pass(unseen);
    skipped_ += unseen;
    thread.passing.look_after(std::min(sample_->left(), most_unseen));
  }
  thread.recorder.drain([&](const Recorder::Run& run, auto accesses) {
    if (stop_watch_.is_due()) return;
    const std::uint64_t instructions = run.goes_on ? 0 : run.block->block.instructions.size();
    const Use use = use_of(thread, instructions);
    if (use != Use::executed) skipped_ += instructions;
    if (use == Use::skipped) return;
    if (use == Use::executed) thread.counts.add(run, accesses);
    if (finds_pointers_) thread.origins.follow(run.block->pointers);
    engine_->run(thread.engine, run.block->block, accesses);
  });
  skip(thread);
  if (watched()) thread.counts += thread.fresh;
  thread.fresh = {};
}

/// What becomes of the thread's next instructions.
Process::Use Process::use_of(Thread& thread, std::uint64_t instructions) {
  if (sample_) return sampled(thread, instructions);
  const Window::Part before = window_.part();
  if (window_.next(instructions) != before) {
    skip(thread);
    enter(window_.part(), thread);
  }
  return watched() ? Use::executed : Use::skipped;
}

Process::Use Process::sampled(Thread& thread, std::uint64_t instructions) {
  const auto spent = [&](bool checker) {
    return checker ? engine_->checked(thread.engine) : engine_->spent(thread.engine);
  };
  const Sample::Part part = sample_->next(instructions, spent);
  if (part == Sample::Part::skipped) return Use::skipped;
  if (part == Sample::Part::checking) {
    engine_->executes(Engine::Executes::checker);
    return Use::checked;
  }
  skip(thread);
  engine_->executes(sample_->is_checked() ? Engine::Executes::both : Engine::Executes::machine);
  return Use::executed;
}

/// Tells the engine what was skipped.
void Process::skip(Thread& thread) {
  if (skipped_ != 0) engine_->skip(thread.engine, std::exchange(skipped_, 0));
}

void Process::passed(Thread& thread) {
  alone([&] {
    simulate(thread);
    write_now_and_then();
  });
}

void Process::counting(bool counts) {
  alone([&] {
    counting_ = counts;
    if (counts || current == nullptr) return;
    current->recorder.begin_anew();
    engine_->catch_up(each_touched_page);
  });
}

bool Process::watched() const {
  if (regions_only_) return regions_ > 0;
  return window_.part() == Window::Part::warming || window_.part() == Window::Part::counted;
}

/// Of the window. The machine stays as it is: it is its counts that begin, or end.
void Process::enter(Window::Part part, Thread& thread) {
  if (part == Window::Part::counted) begin_counts();
  if (part == Window::Part::beyond) {
    thread.counts += thread.fresh;
    engine_->end_region();
  }
  thread.fresh = {};
}

void Process::begin_counts() {
  for (Thread& thread : threads_) thread.counts = {};
  engine_->begin_region();
}

std::string Process::flush_trace() try {
  engine_->flush_trace();
  return {};
} catch (const std::exception& error) {
  return error.what();
}

void Process::fail(const std::string& why) {
  flush_trace();  // as far as it goes; if it cannot be stored that may be why
  write_locked(true, 0, why);
  // Neither QEMU nor the guest can go on, and no exception may cross QEMU's code.
  _exit(125);
}

/// `nearfar run` says why, and that nothing came of it.
void Process::refuse(const std::string& why) {
  std::ofstream(folder_ + "/refused") << why << '\n';
  _exit(125);
}

void Process::leave(Thread& thread) {
  alone([&] {
    ++thread.fresh.system_calls;
    simulate(thread);
    engine_->leave(thread.engine);
    gate_.leave(thread.gate, engine_->clock(thread.engine));
  });
}

void Process::hear(Thread& thread) {
  alone([&] {
    ++thread.fresh.system_calls;
    simulate(thread);
  });
}

void Process::come(Thread& thread, Tick until, bool blocked) {
  alone([&] {
    const Tick before = engine_->now(thread.engine);
    if (blocked) until = max(until, gate_.woken());
    engine_->come_back(thread.engine, max(before, until));
    const Tick after = engine_->clock(thread.engine);
    if (after > before) thread.idle += after - before;
    gate_.come(thread.gate, after);
  });
}

void Process::end_thread(Thread& thread) {
  alone([&] {
    simulate(thread);
    engine_->end_thread(thread.engine);
    thread.recorder.release();
    gate_.leave(thread.gate, engine_->clock(thread.engine));
    current = nullptr;
  });
}

Tick Process::now(Thread& thread) {
  return alone([&] { return engine_->now(thread.engine); });
}

Tick Process::pass(Thread& thread, Tick span) {
  return alone([&] {
    engine_->come_back(thread.engine, engine_->now(thread.engine) + span);
    return engine_->now(thread.engine);
  });
}

Tick Process::busy(Thread& thread) {
  const std::lock_guard lock(mutex_);
  return engine_->now(thread.engine) - thread.began - thread.idle;
}

Tick Process::busy() {
  const std::lock_guard lock(mutex_);
  return busy_threads();
}

Tick Process::busy_threads() const {
  Tick sum = before_.own;
  for (const Thread& thread : threads_) {
    sum += engine_->clock(thread.engine) - thread.began - thread.idle;
  }
  return sum;
}

Tick Process::busy_children() {
  const std::lock_guard lock(mutex_);
  return before_.children;
}

void Process::waited_for(const Messages::Usage& child) {
  const std::lock_guard lock(mutex_);
  before_.children += child.own + child.children;
}

void Process::begin_region() {
  alone([&] {
    ++regions_begun_;
    if (++regions_ > 1 || !regions_only_) return;
    begin_counts();  // as the engine does: of several regions the last is told
  });
}

void Process::end_region() {
  alone([&] {
    if (regions_ == 0) return;
    if (--regions_ == 0 && regions_only_) engine_->end_region();
  });
}

void Process::mapped(std::uint64_t address, std::uint64_t bytes, Mapping kind) {
  alone([&] {
    forget_persistent(address, bytes);
    if (kind == Mapping::persistent) persistent_.push_back({Address(address), bytes});
    engine_->mapped(Address(address), bytes, kind);
  });
}

void Process::heap_ends(std::uint64_t end) {
  alone([&] {
    const std::uint64_t before = heap_.begin.value() + heap_.bytes;
    if (before == 0) {  // the first call asks where it begins
      heap_.begin = Address(end);
    } else if (end >= heap_.begin.value()) {
      heap_.bytes = end - heap_.begin.value();
      if (end > before) engine_->mapped(Address(before), end - before, Mapping::heap);
      if (end < before) engine_->unmapped(Address(end), before - end);
    }
  });
}

void Process::unmapped(std::uint64_t address, std::uint64_t bytes) {
  alone([&] {
    forget_persistent(address, bytes);
    engine_->unmapped(Address(address), bytes);
  });
}

void Process::remapped(std::uint64_t from, std::uint64_t from_bytes, std::uint64_t to,
                       std::uint64_t to_bytes) {
  alone([&] {
    for (Range& range : persistent_) {
      if (range.begin == Address(from)) range = {Address(to), to_bytes};
    }
    engine_->remapped(Address(from), from_bytes, Address(to), to_bytes);
  });
}

/// Files that were mapped within these addresses and no longer are.
void Process::forget_persistent(std::uint64_t address, std::uint64_t bytes) {
  std::erase_if(persistent_, [&](const Range& range) {
    return range.begin.value() >= address && range.begin.value() + range.bytes <= address + bytes;
  });
}

void Process::synchronised(Thread& thread, std::uint64_t address, std::uint64_t bytes) {
  alone([&] {
    for (const Range& range : persistent_) {
      const Address begin = std::max(range.begin, Address(address));
      const Address end = std::min(range.begin + range.bytes, Address(address) + bytes);
      if (begin < end) engine_->flush_range(thread.engine, begin, end - begin);
    }
  });
}

void Process::note_avx512(std::uint64_t pc) {
  const std::lock_guard lock(mutex_);
  if (avx512_pc_ == 0) avx512_pc_ = pc;
}

void Process::note_native(const std::string& program) {
  const std::lock_guard lock(mutex_);
  native_ = program;
  ++natives_;
}

void Process::before_fork() {
  mutex_.lock();
  messages_.lock();
}

void Process::after_fork_in_parent() {
  messages_.unlock();
  mutex_.unlock();
}

void Process::after_fork_in_child() {
  after_fork_in_parent();
  messages_.forget_process();
  table_.forget_lost();
  before_ = {};
  const Tick at = current == nullptr ? start_ : engine_->clock(current->engine);
  start_ = at;
  number_ = 0;
  natives_ = 0;
  native_.clear();
  ended_ = false;
  window_ = Window::from(options_);
  sample_ = sample_of(options_);
  skipped_ = 0;
  guarded([&] { engine_ = make_engine(); });
  gate_.restart();
  // The threads of the parent are not here; theirs is the memory that this one's record is in.
  const bool had_thread = current != nullptr;
  threads_.clear();
  current = nullptr;
  if (!had_thread) return;
  const Thread& thread = attach();
  engine_->leave(thread.engine);
  gate_.leave(thread.gate, at);
}

}  // namespace nearfar::frontend::qemu
