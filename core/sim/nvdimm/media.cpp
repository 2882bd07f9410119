#include "sim/nvdimm/media.h"

namespace nearfar::sim::nvdimm {
namespace {

/// Waiting accesses that the controller looks at for one that can start.
constexpr std::size_t window = 32;

}  // namespace

Media::Media(const MediaConfig& config, Bytes page, Bytes block, const PowerBudget& budget)
    : config_(config),
      budget_(budget),
      page_(page),
      block_(block),
      accesses_per_block_(block / config.access),
      read_power_(budget.time_for(config.read_energy_pj)),
      write_power_(budget.time_for(config.write_energy_pj)),
      partition_free_(config.partitions) {
  reads_left_ = config.read_batch;
}

Media::Access Media::access(Tag tag, Address media) const {
  const std::uint64_t place = media.block(block_) + media.block(page_);
  return {tag, static_cast<std::uint32_t>(place % config_.partitions)};
}

void Media::read(Tag tag, Address media, Tick now) {
  reads_.push_back(access(tag, media));
  reschedule(now);
}

void Media::write(Tag tag, Address media, Tick now) {
  writes_.push_back(access(tag, media));
  reschedule(now);
}

Tick Media::ready(const Access& access) const {
  return max(max(data_path_free_, partition_free_[access.partition]), budget_.paid());
}

bool Media::write_turn() const {
  if (writes_.empty() || reads_.empty()) return reads_.empty();
  return writes_left_ > 0 || reads_left_ == 0 ||
         (reads_guaranteed_ == 0 && writes_.size() >= config_.write_high);
}

void Media::take_turn(bool write) {
  if (!write) {
    writes_left_ = 0;
    if (reads_guaranteed_ > 0) --reads_guaranteed_;
    if (!writes_.empty() && reads_left_ > 0) --reads_left_;
    return;
  }
  if (reads_.empty()) return;  // writes that keep no read waiting use up no turn
  if (writes_left_ == 0) writes_left_ = config_.write_batch;
  if (--writes_left_ == 0 || writes_.empty()) {
    writes_left_ = 0;
    reads_guaranteed_ = static_cast<std::uint32_t>(reads_.size());
    reads_left_ = config_.read_batch;
  }
}

Media::Choice Media::earliest(bool write, Tick now) const {
  const auto& queue = write ? writes_ : reads_;
  const Tick soonest = max(now, data_path_free_);
  Choice best{.write = write};
  const std::size_t end = std::min(queue.size(), window);
  for (std::size_t place = 0; place < end; ++place) {
    const Tick at = max(now, ready(queue[place]));
    if (at < best.start) {
      best.start = at;
      best.place = place;
      if (at <= soonest) break;
    }
  }
  return best;
}

Media::Started Media::start(const Choice& choice) {
  const Tick at = choice.start;
  auto& queue = choice.write ? writes_ : reads_;
  const Access access = queue[choice.place];
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(choice.place));
  take_turn(choice.write);
  const std::uint64_t n = accesses_per_block_;
  Started started{.tag = access.tag, .write = choice.write, .done = at};
  if (choice.write) {
    data_path_free_ = at + n * config_.write_interval;
    budget_.draw(n * write_power_, at);
    partition_free_[access.partition] = at + n * config_.write_partition;
    started.done = data_path_free_;
    write_bytes_ += block_;
  } else {
    data_path_free_ = at + n * config_.read_interval;
    budget_.draw(n * read_power_, at);
    partition_free_[access.partition] = at + n * config_.read_partition;
    started.done = at + config_.read_latency + (n - 1) * config_.read_interval;
    read_bytes_ += block_;
  }
  return started;
}

void Media::reschedule(Tick now) { next_ = earliest(write_turn(), now); }

void Media::advance(Tick now, std::vector<Started>& started) {
  while (next_.start <= now) {
    started.push_back(start(next_));
    reschedule(next_.start);
  }
}

void Media::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "read_bytes", read_bytes_);
  counters.add(prefix + "write_bytes", write_bytes_);
  const auto energy = [this](const std::uint64_t& bytes, double each) {
    return
        [this, &bytes, each] { return bytes / config_.access * static_cast<std::uint64_t>(each); };
  };
  counters.add(prefix + "energy.read_pj", energy(read_bytes_, config_.read_energy_pj));
  counters.add(prefix + "energy.write_pj", energy(write_bytes_, config_.write_energy_pj));
}

}  // namespace nearfar::sim::nvdimm
