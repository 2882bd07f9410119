#include <unistd.h>

#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

#include "frontend/qemu/process.h"

/// What a process leaves for `nearfar run`.
namespace nearfar::frontend::qemu {
namespace {

/// A line for each window: where its period begins and how long that is, where the window began,
/// what came of it, and of its check.
void report(const Sample& sample, std::ostream& out) {
  std::size_t number = 0;
  for (const Sample::Window& window : sample.windows()) {
    out << "sample." << number++ << " = " << window.period_at << ' ' << window.period << ' '
        << window.at << ' ' << window.spent.instructions << ' ' << window.spent.busy.ps() << ' '
        << window.checked.instructions << ' ' << window.checked.busy.ps() << '\n';
  }
}

}  // namespace

/// QEMU's own command line has behind `-0` how the program was called, and then its file.
void Process::find_names() {
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  std::string word;
  while (std::getline(line, word, '\0') && word != "-0") {
  }
  if (!std::getline(line, called_, '\0') || !std::getline(line, word, '\0')) {
    called_ = "?";
    return;
  }
  // What would end a line of the result.
  std::erase_if(called_, [](unsigned char c) { return std::iscntrl(c) != 0; });
  file_ = std::filesystem::absolute(word);
}

void Process::finish(int signal, bool goes_on) {
  alone([&] {
    if (ended_) return;
    ended_ = !goes_on;
    if (current != nullptr) simulate(*current);
    messages_.ends(last_clock(), {busy_threads(), before_.children}, goes_on);
    if (window_.part() == Window::Part::warming) engine_->begin_region();
    write_locked(true, signal, flush_trace());
  });
}

void Process::stop() {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  ended_ = stopped_ = true;
  try {
    if (window_.part() == Window::Part::warming) engine_->begin_region();
    write_locked(true, SIGTERM, flush_trace());
  } catch (const std::exception& error) {
    write_locked(true, SIGTERM, error.what());
  }
  die_of_sigterm();
}

Tick Process::last_clock() const {
  Tick last = start_;
  for (const Thread& thread : threads_) last = max(last, engine_->clock(thread.engine));
  return last;
}

void Process::write_locked(bool final, int signal, const std::string& error) {
  written_ = std::chrono::steady_clock::now();
  Counts sum;
  // What has only warmed up does not count.
  if (window_.part() != Window::Part::warming) {
    for (const Thread& thread : threads_) sum += thread.counts;
  }
  const std::string name = folder_ + "/" + std::to_string(getpid()) + "-" + std::to_string(number_);
  {
    std::ofstream out(name + ".part", std::ios::binary | std::ios::trunc);
    out << "called = " << called_ << "\nprocess = " << getpid() << "\nnumber = " << number_
        << "\nfinal = " << (final ? "true" : "false") << "\nsignal = " << signal
        << "\nstopped = " << (stopped_ ? "true" : "false") << "\nthreads = " << threads_.size()
        << "\nstart = " << start_.ps() << "\nend = " << last_clock().ps()
        << "\nregions = " << regions_begun_
        << "\npassed = " << (sample_ ? sample_->passed() : window_.passed())
        << "\navx512 = " << avx512_pc_ << "\nnatives = " << natives_
        << "\nunordered = " << table_.lost() << "\n";
    if (sample_) report(*sample_, out);
    if (!native_.empty()) out << "native = " << native_ << "\n";
    if (!error.empty()) out << "error = " << error << "\n";
    report(sum, out);
    // The report lets the memory come to rest, which a run that goes on must not notice.
    if (final && error.empty()) engine_->report(out);
  }
  if (std::rename((name + ".part").c_str(), (name + ".result").c_str()) != 0) {
    std::remove((name + ".part").c_str());
  }
}

}  // namespace nearfar::frontend::qemu
