#include "frontend/system/machine.h"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "frontend/system/region.h"

namespace nearfar::frontend::system {
namespace {

Settings read_settings(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw InputError(path + ": cannot be read");
  return Settings::parse(std::move(text).str());
}

std::unique_ptr<Engine> make_engine(const Settings& options, const std::string& folder) {
  const Tick period = options.time("period");
  if (options.name("core") == "count") return make_counting_engine(period, period);
  return make_program_engine(read_settings(folder + "/model"), period, nullptr);
}

}  // namespace

Machine::Machine(const std::string& folder) : Machine(folder, read_settings(folder + "/options")) {}

Machine::Machine(const std::string& folder, const Settings& options)
    : folder_(folder),
      options_(options),
      memory_(options.bytes("memory")),
      window_(qemu::Window::from(options)),
      watching_(options.name("include") == "boot"),
      engine_(make_engine(options, folder)),
      stop_watch_(folder + "/stop", [this] { stop(); }) {
  if (!watching_) region_ = watched_region(folder);
  for (const MemoryMap::Range& range : memory_.ranges()) {
    if (range.bytes != 0) engine_->mapped(range.begin, range.bytes, Mapping::memory);
  }
  thread_ = engine_->add_thread(Tick{});
  stop_watch_.start();
}

void Machine::line(const std::uint64_t* address, std::uint16_t instruction, bool flush) {
  if (!watching_) return;
  if (address == nullptr || !knows(*address >> page_bits)) {
    ++(flush ? fresh_.flushes_unresolved : fresh_.prefetches_unresolved);
  } else {
    recorder_.line(*address, instruction);
  }
}

/// The region of interest begins, or has ended.
void Machine::turn_region() {
  const bool begins = !watching_;
  drain();
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  try {
    turn_region_to(begins);
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void Machine::turn_region_to(bool begins) {
  engine_->skip(thread_, std::exchange(skipped_, 0));
  watching_ = begins;
  if (begins) {
    ++regions_;
    recorder_.begin_anew();
    // The guest may have changed its page tables meanwhile.
    tables_changed_ = true;
    engine_->forget_translations(thread_);
    begin_counts();
  } else {
    if (counts_now()) shares_.settle(engine_->spent(thread_));
    engine_->end_region();
  }
}

void Machine::drain() {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  simulate();
  constexpr std::chrono::milliseconds between{500};
  if (std::chrono::steady_clock::now() - written_ > between) write_locked(false, {});
}

void Machine::simulate() try {
  std::size_t number = 0;
  auto change = changes_.begin();
  recorder_.drain([&](const qemu::Recorder::Run& run, auto accesses) {
    for (; change != changes_.end() && change->run == number; ++change) {
      engine_->guest_maps(thread_, change->page.virtual_page, change->page.physical_page);
    }
    ++number;
    if (!stop_watch_.is_due()) execute(run, accesses);
  });
  changes_.clear();
  if (skipped_ != 0 && watching_) engine_->skip(thread_, std::exchange(skipped_, 0));
  if (counts_now()) counts_ += fresh_;
  fresh_ = {};
} catch (const std::exception& error) {
  fail(error.what());
}

void Machine::execute(const qemu::Recorder::Run& run, std::span<const sim::cpu::Access> accesses) {
  const std::uint64_t instructions = run.goes_on ? 0 : run.block->block.instructions.size();
  const qemu::Window::Part before = window_.part();
  if (window_.next(instructions) != before) {
    if (skipped_ != 0) engine_->skip(thread_, std::exchange(skipped_, 0));
    enter(window_.part());
  }
  if (!counts_now()) {
    skipped_ += instructions;
    return;
  }
  const auto spent = [&] { return engine_->spent(thread_); };
  counts_.add(run, accesses);
  halts_ += run.block->halts;
  shares_.begin(run.block->block.pc, spent);
  engine_->run(thread_, run.block->block, accesses);
  shares_.add(instructions);
  if (run.block->changes_tables) engine_->forget_translations(thread_);
}

/// Of the window. The machine stays as it is: it is its counts that begin, or end.
void Machine::enter(qemu::Window::Part part) {
  if (part == qemu::Window::Part::counted) begin_counts();
  beyond_ = part == qemu::Window::Part::beyond;
  if (beyond_) {
    shares_.settle(engine_->spent(thread_));
    engine_->end_region();
  }
}

void Machine::begin_counts() {
  counts_ = {};
  fresh_ = {};
  unseen_ = {};
  halts_ = 0;
  engine_->begin_region();
  shares_.forget();
}

void Machine::fail(const std::string& why) {
  write_locked(true, why);
  // QEMU cannot go on, and no exception may cross its code.
  _exit(125);
}

void Machine::end() {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  simulate();
  ended_ = true;
  if (window_.part() == qemu::Window::Part::warming) begin_counts();
  try {
    write_locked(true, {});
  } catch (const std::exception& error) {
    write_locked(true, error.what());
  }
}

/// `nearfar run` was told to end, and the machine takes its time over that.
void Machine::stop() {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  ended_ = stopped_ = true;
  try {
    write_locked(true, {});
  } catch (const std::exception& error) {
    write_locked(true, error.what());
  }
  qemu::die_of_sigterm();
}

void Machine::write_locked(bool final, const std::string& error) {
  written_ = std::chrono::steady_clock::now();
  if (final && error.empty()) static_cast<void>(engine_->now(thread_));  // all of it is done then
  if (watching_ && counts_now()) shares_.settle(engine_->spent(thread_));
  const std::string name = folder_ + "/" + std::to_string(getpid()) + "-0";
  {
    std::ofstream out(name + ".part", std::ios::binary | std::ios::trunc);
    out << "process = " << getpid() << "\nfinal = " << (final ? "true" : "false")
        << "\nstopped = " << (stopped_ ? "true" : "false")
        << "\nthreads = 1\nstart = 0\nend = " << engine_->clock(thread_).ps()
        << "\nregions = " << regions_ << "\npassed = " << window_.passed() << "\n";
    if (!error.empty()) out << "error = " << error << "\n";
    report(counts_, out);
    out << "guest.halts = " << halts_ << "\nguest.device_accesses = " << unseen_.device
        << "\nguest.rom_accesses = " << unseen_.rom
        << "\nguest.hidden_accesses = " << unseen_.hidden
        << "\nguest.cut_accesses = " << unseen_.cut << "\n";
    shares_.report(out);
    // The report lets the memory come to rest, which a run that goes on must not notice.
    if (final && error.empty()) engine_->report(out);
  }
  if (std::rename((name + ".part").c_str(), (name + ".result").c_str()) != 0) {
    std::remove((name + ".part").c_str());
  }
}

}  // namespace nearfar::frontend::system
