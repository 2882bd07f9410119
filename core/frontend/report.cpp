#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "base/histogram.h"
#include "base/time_series.h"
#include "frontend/activity.h"
#include "frontend/program.h"

/// What a program's run came to, as text.
namespace nearfar::frontend {
namespace {

using sim::cpu::CoreCounts;

constexpr const char* cause_names[sim::cpu::causes] = {
    "base", "branch", "l1", "l2", "l3", "memory", "tlb", "store_queue", "fence", "paging"};

void write_core(std::ostream& out, const std::string& prefix, const CoreCounts& counts) {
  out << prefix << "instructions = " << counts.instructions << '\n'
      << prefix << "loads = " << counts.loads << '\n'
      << prefix << "loads_wrong_path = " << counts.wrong_path << '\n'
      << prefix << "stores = " << counts.stores << '\n'
      << prefix << "loads_forwarded = " << counts.forwarded << '\n'
      << prefix << "blocks = " << counts.branches << '\n'
      << prefix << "blocks_mispredicted = " << counts.mispredicted << '\n'
      << prefix << "nt_lines = " << counts.nt_lines << '\n'
      << prefix << "nt_lines_partial = " << counts.nt_partial << '\n'
      << prefix << "flushes = " << counts.flushes << '\n'
      << prefix << "flushes_dirty = " << counts.flushes_dirty << '\n'
      << prefix << "fences = " << counts.fences << '\n';
  for (std::size_t i = 0; i < sim::cpu::causes; ++i) {
    out << prefix << "stack." << cause_names[i]
        << "_ps = " << sim::cpu::coarse(counts.stack[i]).ps() << '\n';
  }
  out << prefix << "busy_ps = " << counts.busy().ps() << '\n';
}

void write_latency(std::ostream& out, const Histogram& latency) {
  out << "load_latency.count = " << latency.count() << '\n'
      << "load_latency.sum_ps = " << latency.sum() << '\n'
      << "load_latency.p50_ps = " << latency.quantile(1, 2) << '\n'
      << "load_latency.p90_ps = " << latency.quantile(9, 10) << '\n'
      << "load_latency.p99_ps = " << latency.quantile(99, 100) << '\n'
      << "load_latency.p999_ps = " << latency.quantile(999, 1000) << '\n'
      << "load_latency.max_ps = " << latency.max() << '\n';
  // A picture needs no finer ones; the quantiles above come from ranges a sixteenth as wide.
  constexpr unsigned eighths = 3;
  latency.each(eighths, [&](std::uint64_t highest, std::uint64_t count) {
    out << "load_latency.upto." << highest << " = " << count << '\n';
  });
}

}  // namespace

/// Time and sums begin at `at`, with the memory as it is.
void Program::begin(Tick at) {
  baseline_ = {.at = at, .counters = counters_.read()};
  traffic_.restart(at);
  activity_.restart(at);
}

void Program::roi_begin() {
  cores_.catch_up_all();
  frozen_.clear();
  cores_.forget_counts();
  if (trace_) trace_->restart();
  space_.forget_counts();
  table_lines_ = 0;
  moves_seen_ = 0;
  mover_.forget_counts();
  gate_.forget_counts();
  far_writes_.forget();
  memory_->forget_moves();
  // What memory draws while the cores compute before the region is not the region's.
  cores_.bring_memory_up();
  memory_->settle(socket_.now());
  begin(end());
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
  cores_.catch_up_all();
  // What is under way in the memory ends; the caches keep what they hold.
  cores_.bring_memory_to_rest();
  look_at_all();
  const Tick at = end();
  sim::settle_at(*memory_, at);
  out << "begin_ps = " << baseline_.at.ps() << '\n'
      << "time_ps = " << (at - baseline_.at).ps() << '\n'
      << "threads = " << cores_.size() << '\n';
  write_threads(out);
  write_counters(out);
  write_tiers(out);
  write_over_time(out);
  write_pages(out);
  write_map(out);
  write_wear(out);
}

void Program::write_threads(std::ostream& out) const {
  CoreCounts sum;
  for (Thread thread = 0; thread < cores_.size(); ++thread) {
    const CoreCounts& counts = cores_.counts(thread);
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

void Program::write_tiers(std::ostream& out) const {
  out << "moved.pages = " << space_.moves() << '\n'
      << "moved.lines = " << mover_.lines() << '\n'
      << "moved.most_waiting_bytes = " << mover_.most_waiting() << '\n'
      << "moved.held_blocks = " << gate_.held() << '\n'
      << "near.used_bytes = " << space_.in_use(Tier::near) << '\n'
      << "far.used_bytes = " << space_.in_use(Tier::far) << '\n'
      << "pages.unknown = " << space_.unknown_pages() << '\n';
  space_.report_placer(out);
}

/// A line for each bucket: traffic, pages moved, instructions, picoseconds by cause; and one for
/// each thread with its instructions by bucket.
void Program::write_over_time(std::ostream& out) const {
  auto traffic = traffic_;
  auto activity = activity_.all();
  const Tick width = max(traffic.width(), activity.width());
  traffic.widen(width);
  activity.widen(width);
  out << "over_time.bucket_ps = " << width.ps() << '\n';
  const std::size_t buckets = std::max(traffic.buckets().size(), activity.buckets().size());
  const auto write = [&](const auto& series, std::size_t bucket) {
    using Counts = std::decay_t<decltype(series.buckets())>::value_type;
    const Counts counts = bucket < series.buckets().size() ? series.buckets()[bucket] : Counts{};
    for (const std::uint64_t count : counts) out << ' ' << count;
  };
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    out << "over_time." << bucket << " =";
    write(traffic, bucket);
    write(activity, bucket);
    out << '\n';
  }
  for (Thread thread = 0; thread < cores_.size(); ++thread) {
    auto instructions = activity_.instructions(thread);
    instructions.widen(width);
    out << "thread." << thread << ".over_time =";
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) write(instructions, bucket);
    out << '\n';
  }
}

}  // namespace nearfar::frontend
