#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>

#include "base/histogram.h"
#include "frontend/program.h"

/// What a program's run came to, as text.
namespace nearfar::frontend {
namespace {

using sim::cpu::CoreCounts;

constexpr const char* cause_names[sim::cpu::causes] = {
    "base", "branch", "l1", "l2", "l3", "memory", "tlb", "store_queue", "fence"};

void write_core(std::ostream& out, const std::string& prefix, const CoreCounts& counts) {
  out << prefix << "instructions = " << counts.instructions << '\n'
      << prefix << "loads = " << counts.loads << '\n'
      << prefix << "stores = " << counts.stores << '\n'
      << prefix << "loads_forwarded = " << counts.forwarded << '\n'
      << prefix << "blocks = " << counts.branches << '\n'
      << prefix << "blocks_mispredicted = " << counts.mispredicted << '\n'
      << prefix << "nt_lines = " << counts.nt_lines << '\n'
      << prefix << "nt_lines_partial = " << counts.nt_partial << '\n'
      << prefix << "flushes = " << counts.flushes << '\n'
      << prefix << "flushes_dirty = " << counts.flushes_dirty << '\n'
      << prefix << "fences = " << counts.fences << '\n';
  sim::cpu::Fine all = 0;
  for (std::size_t i = 0; i < sim::cpu::causes; ++i) {
    all += counts.stack[i];
    out << prefix << "stack." << cause_names[i]
        << "_ps = " << sim::cpu::coarse(counts.stack[i]).ps() << '\n';
  }
  out << prefix << "busy_ps = " << sim::cpu::coarse(all).ps() << '\n';
}

void write_latency(std::ostream& out, const Histogram& latency) {
  out << "load_latency.count = " << latency.count() << '\n'
      << "load_latency.sum_ps = " << latency.sum() << '\n'
      << "load_latency.p50_ps = " << latency.quantile(1, 2) << '\n'
      << "load_latency.p90_ps = " << latency.quantile(9, 10) << '\n'
      << "load_latency.p99_ps = " << latency.quantile(99, 100) << '\n'
      << "load_latency.p999_ps = " << latency.quantile(999, 1000) << '\n'
      << "load_latency.max_ps = " << latency.max() << '\n';
}

}  // namespace

void Program::roi_begin() {
  for (Thread thread = 0; thread < cores_.size(); ++thread) cores_.catch_up(thread);
  frozen_.clear();
  cores_.forget_counts();
  space_.forget_counts();
  mover_.forget_counts();
  memory_->settle(socket_.now());
  baseline_ = {.at = end(), .counters = counters_.read()};
  traffic_.restart(baseline_.at);
}

void Program::roi_end() {
  std::ostringstream text;
  report(text);
  frozen_ = text.str();
}

Tick Program::end() const {
  Tick last = socket_.now();
  for (Thread thread = 0; thread < cores_.size(); ++thread) last = max(last, cores_.clock(thread));
  return last;
}

void Program::report(std::ostream& out) {
  if (!frozen_.empty()) {
    out << frozen_;
    return;
  }
  for (Thread thread = 0; thread < cores_.size(); ++thread) cores_.catch_up(thread);
  // What is under way in the memory ends; the caches keep what they hold.
  while (socket_.busy()) socket_.step(Tick::never());
  after_step();
  const Tick at = end();
  sim::settle_at(*memory_, at);
  out << "time_ps = " << (at - baseline_.at).ps() << '\n' << "threads = " << cores_.size() << '\n';
  write_threads(out);
  write_counters(out);
  write_traffic(out);
  write_pages(out);
}

void Program::write_threads(std::ostream& out) const {
  CoreCounts sum;
  for (Thread thread = 0; thread < cores_.size(); ++thread) {
    const CoreCounts& counts = cores_.core(thread).counts();
    write_core(out, "thread." + std::to_string(thread) + ".", counts);
    sum += counts;
  }
  write_core(out, "core.", sum);
  write_latency(out, sum.load_latency);
}

void Program::write_counters(std::ostream& out) {
  const std::vector<Counters::Reading> now = counters_.read();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::uint64_t before = i < baseline_.counters.size() ? baseline_.counters[i].value : 0;
    out << now[i].name << " = " << now[i].value - before << '\n';
  }
}

void Program::write_traffic(std::ostream& out) const {
  out << "moved.pages = " << space_.moves() << '\n'
      << "moved.lines = " << mover_.lines() << '\n'
      << "near.used_bytes = " << space_.in_use(Tier::near) << '\n'
      << "far.used_bytes = " << space_.in_use(Tier::far) << '\n'
      << "pages.unknown = " << space_.unknown_pages() << '\n'
      << "traffic.bucket_ps = " << traffic_.width().ps() << '\n';
  for (std::size_t i = 0; i < traffic_.buckets().size(); ++i) {
    const auto& lines = traffic_.buckets()[i];
    out << "traffic." << i << " = " << lines[0] << ' ' << lines[1] << ' ' << lines[2] << ' '
        << lines[3] << '\n';
  }
}

/// The pages that memory was asked for most, hottest first: tier, lines read, lines written.
void Program::write_pages(std::ostream& out) const {
  constexpr std::size_t most = 1000;
  struct Hot {
    std::uint64_t address = 0;
    const AddressSpace::Page* page = nullptr;
  };
  std::vector<Hot> hot;
  for (const auto& [address, page] : space_.pages()) {
    if (page.reads + page.writes != 0) hot.push_back({address, &page});
  }
  out << "pages.placed = " << space_.pages().size() << '\n'
      << "pages.touched = " << hot.size() << '\n';
  const std::size_t shown = std::min(most, hot.size());
  std::partial_sort(hot.begin(), hot.begin() + static_cast<std::ptrdiff_t>(shown), hot.end(),
                    [](const Hot& a, const Hot& b) {
                      const std::uint64_t of_a = a.page->reads + a.page->writes;
                      const std::uint64_t of_b = b.page->reads + b.page->writes;
                      return of_a != of_b ? of_a > of_b : a.address < b.address;
                    });
  for (std::size_t i = 0; i < shown; ++i) {
    out << "page." << std::hex << hot[i].address << std::dec << " = "
        << (space_.is_near(hot[i].page->frame) ? "near " : "far ")
        << (hot[i].page->huge ? "huge " : "small ") << hot[i].page->reads << ' '
        << hot[i].page->writes << '\n';
  }
}

}  // namespace nearfar::frontend
