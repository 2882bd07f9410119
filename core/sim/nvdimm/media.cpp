#include "sim/nvdimm/media.h"

#include <cmath>

namespace nearfar::sim::nvdimm {
namespace {

/// Waiting accesses that the controller looks at for one that can start.
constexpr std::size_t window = 32;

/// Picoseconds in which `budget` milliwatts deliver `energy` picojoules (1 pJ / 1 mW = 1 ns).
Tick time_for(double energy_pj, double budget_mw) {
  return budget_mw <= 0 ? Tick{} : Tick(static_cast<std::uint64_t>(
                                       std::llround(energy_pj / budget_mw * 1e3)));
}

}  // namespace

Media::Media(const MediaConfig& config, Bytes page, Bytes block)
    : config_(config),
      page_(page),
      block_(block),
      accesses_per_block_(block / config.access),
      partition_free_(config.partitions) {
  const double dynamic_mw = config.budget_mw == 0 ? 0 : config.budget_mw - config.static_mw;
  read_power_ = time_for(config.read_energy_pj, dynamic_mw);
  write_power_ = time_for(config.write_energy_pj, dynamic_mw);
  const std::uint64_t in_latency =
      config.write_interval.ps() == 0 ? 1 : config.write_latency / config.write_interval + 1;
  recent_writes_.resize(in_latency);
  reads_left_ = config.read_batch;
}

void Media::read(Tag tag, Address media, Tick now) {
  reads_.push_back({tag, static_cast<std::uint32_t>(media.block(page_) % config_.partitions),
                    media.block(block_)});
  reschedule(now);
}

void Media::write(Tag tag, Address media, Tick now) {
  writes_.push_back({tag, static_cast<std::uint32_t>(media.block(page_) % config_.partitions),
                     media.block(block_)});
  reschedule(now);
}

Tick Media::ready(const Access& access, bool write) const {
  Tick at = max(data_path_free_, partition_free_[access.partition]);
  if (config_.budget_mw != 0) at = max(at, power_free_);
  if (write) {
    for (const Recent& recent : recent_writes_) {
      if (recent.block == access.block) at = max(at, recent.writable);
    }
  }
  return at;
}

bool Media::write_turn() const {
  if (writes_.empty() || reads_.empty()) return reads_.empty();
  return writes_left_ > 0 || reads_left_ == 0 ||
         (reads_guaranteed_ == 0 && writes_.size() >= config_.write_queue);
}

void Media::take_turn(bool write) {
  if (!write) {
    writes_left_ = 0;
    if (reads_guaranteed_ > 0) --reads_guaranteed_;
    if (!writes_.empty() && reads_left_ > 0) --reads_left_;
    return;
  }
  if (reads_.empty()) return;  // writes that keep nobody waiting use up no turn
  if (writes_left_ == 0) writes_left_ = config_.write_batch;
  if (--writes_left_ == 0 || writes_.empty()) {
    writes_left_ = 0;
    reads_guaranteed_ = static_cast<std::uint32_t>(reads_.size());
    reads_left_ = config_.read_batch;
  }
}

Media::Choice Media::earliest(const std::deque<Access>& queue, bool write) const {
  Choice best{.write = write};
  const std::size_t end = std::min(queue.size(), window);
  for (std::size_t place = 0; place < end; ++place) {
    const Tick at = ready(queue[place], write);
    if (at < best.start) {
      best.start = at;
      best.place = place;
      if (at <= data_path_free_) break;
    }
  }
  return best;
}

Media::Choice Media::choose() const {
  return write_turn() ? earliest(writes_, true) : earliest(reads_, false);
}

Media::Started Media::start(const Choice& choice) {
  const Tick at = choice.start;
  auto& queue = choice.write ? writes_ : reads_;
  const Access access = queue[choice.place];
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(choice.place));
  take_turn(choice.write);
  const std::uint64_t n = accesses_per_block_;
  Started started{.tag = access.tag, .write = choice.write, .first_line = at,
                  .line_spacing = Tick{}, .done = at};
  if (choice.write) {
    data_path_free_ = at + n * config_.write_interval;
    power_free_ = at + n * write_power_;
    partition_free_[access.partition] = data_path_free_;
    started.done = at + n * config_.write_interval;
    recent_writes_[recent_next_] = {access.block, at + n * config_.write_latency};
    recent_next_ = (recent_next_ + 1) % recent_writes_.size();
    write_bytes_ += block_;
    energy_pj_ += n * static_cast<std::uint64_t>(config_.write_energy_pj);
  } else {
    data_path_free_ = at + n * config_.read_interval;
    power_free_ = at + n * read_power_;
    partition_free_[access.partition] = at + n * config_.read_partition;
    started.first_line = at + config_.read_latency;
    started.line_spacing = Tick(n * config_.read_partition.ps() * line_bytes / block_);
    started.done = started.first_line + started.line_spacing * (block_ / line_bytes - 1);
    read_bytes_ += block_;
    energy_pj_ += n * static_cast<std::uint64_t>(config_.read_energy_pj);
  }
  return started;
}

void Media::reschedule(Tick now) {
  next_start_ = reads_.empty() && writes_.empty() ? Tick::never() : max(now, choose().start);
}

void Media::advance(Tick now, std::vector<Started>& started) {
  while (next_start_ <= now) {
    Choice choice = choose();
    choice.start = next_start_;
    started.push_back(start(choice));
    reschedule(next_start_);
  }
}

void Media::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "read_bytes", read_bytes_);
  counters.add(prefix + "write_bytes", write_bytes_);
  counters.add(prefix + "energy_pj", energy_pj_);
}

}  // namespace nearfar::sim::nvdimm
