#include "sim/nvdimm/dimm.h"

namespace nearfar::sim::nvdimm {
namespace {

/// Apart from the seeds of the other buffers and of every channel's wear.
constexpr std::uint64_t middle_seed = 0x1000;
constexpr std::uint64_t pointer_seed = 0x2000;

/// Pages in which partitions go round by page as well as by block; none where they are blocks.
Bytes media_page(const Config& config) {
  return config.page() > config.media.access ? config.page() : config.media.capacity;
}

}  // namespace

Dimm::Dimm(const Config& config, std::uint8_t channel, dram::CommandLog* log)
    : config_(config),
      geometry_(config),
      lsq_(config.lsq, config.media.access),
      rmw_(config.rmw.entries, config.rmw.ways, config.rmw.policy, config.seed + 1),
      sectors_(config.rmw.entries * geometry_.sectors_per_entry()),
      rmw_data_(sectors_.size() * geometry_.lines_per_sector()),
      lane_free_(config.rmw_lanes),
      table_{config.table_entry},
      wear_(config.wear, config.media.capacity, config.seed + 3 + channel),
      page_reads_(config.media.page_reads),
      media_(config.media, media_page(config), config.media.access,
             PowerBudget(config.access_mw(), config.power.window)),
      dram_(config.dram, channel, log) {
  line_power_ = media_.budget().time_for(config.power.line_pj);
  if (config.dram.energy) {
    dram_power_ = media_.budget().time_for(dram::EnergyModel(config.dram).most_access_pj());
  }
  if (config.middle) {
    middle_.emplace(*config.middle, config.media.access, static_cast<Index>(sectors_.size()),
                    config.seed + middle_seed);
  }
  if (config.lazy) {
    lazy_.emplace(*config.lazy);
    lazy_power_ = media_.budget().time_for(config.lazy->access_pj);
    admission_.emplace(config, config.seed + 3 + channel);
  }
  if (config.ait) {
    ait_.emplace(config);
    ait_latency_ = config.ait->latency;
  }
  if (config.pretranslation) {
    pretranslation_ = std::make_unique<Pretranslation>(config, config.seed + pointer_seed);
  }
}

// Every read passes here: flattened, as is serve(), it costs fewer instructions.
[[gnu::flatten]] void Dimm::read(ReadTag tag, Address device, Tick at) {
  const Index index = reads_.take_any();
  Read& read = reads_[index];
  read.tag = tag;
  read.line = device;
  read.data = 0;
  schedule(at, {Event::Kind::read_arrives, index});
}

void Dimm::write(const Request& request, Address device, Tick at) {
  ++writes_announced_;
  ++writes_on_bus_;
  if (request.data != 0) data_in_use_ = true;
  if (request.tell_media) ++notices_owed_;
  schedule(at, {Event::Kind::write_arrives, arrivals_.take({request, device})});
}

void Dimm::fence(std::uint32_t to_come, Tick now) {
  if (!config_.lsq.drain_on_fence) return;
  fenced_writes_ = writes_on_bus_ + to_come;
  if (fenced_writes_ != 0) return;
  lsq_.drain_all();
  schedule(now, {Event::Kind::drain, 0});
}

void Dimm::find_next() {
  next_ = min(min(events_.next(), dram_next_), media_.next_event());
  if (!lsq_.empty() &&
      (writes_under_way_ < config_.media.write_queue || (lazy_ && absorbs_oldest()))) {
    next_ = min(next_, lsq_.next_aged());
  }
}

Tick Dimm::advance(Tick until, std::vector<Reply>& replies, Sink& notices) {
  notices_ = &notices;
  const std::size_t notices_before = notices.size();
  Tick now = until;
  while (next_ <= until && replies.empty() && notices.size() == notices_before) {
    now = next_;
    if (dram_next_ <= now) {
      dram_.advance(now, dram_sink_);
      dram_completions(now);
      dram_next_ = dram_.next_event();
    }
    if (media_.next_event() <= now) {
      media_.advance(now, started_);
      for (std::size_t i = 0; i < started_.size(); ++i) media_started(started_[i], now);
      started_.clear();
    }
    while (events_.next() <= now) {
      handle(events_.pop(), now, replies);
    }
    if (!lsq_.empty()) drain(now);
    find_next();
  }
  return now;
}

void Dimm::handle(const Event& event, Tick now, std::vector<Reply>& replies) {
  switch (event.kind) {
    case Event::Kind::read_arrives:
      read_arrives(event.index, now);
      break;
    case Event::Kind::write_arrives:
      write_arrives(event.index, now);
      break;
    case Event::Kind::respond:
      leave(event.index, now, replies);
      break;
    case Event::Kind::translate:
      translate(event.index, now);
      break;
    case Event::Kind::read_table: {
      const std::uint64_t page =
          ait_ ? ait_->page(event.index) : geometry_.page_of(transfers_[event.index].at);
      dram_send(table_flag | event.index, table_.line_of(page), Op::read, now);
      break;
    }
    case Event::Kind::read_buffered:
      fetch_from_dram(event.index, now);
      break;
    case Event::Kind::fetched:
      fetched(event.index, now);
      break;
    case Event::Kind::handed_over:
      handed_over(event.index, now);
      break;
    case Event::Kind::filled:
      filled(event.index, now);
      break;
    case Event::Kind::written:
      written(event.index, now);
      break;
    case Event::Kind::migrated:
      for (const Index transfer : wear_.finish(event.index)) translated(transfer, now);
      break;
    case Event::Kind::look_up_pointer:
    case Event::Kind::find_part:
    case Event::Kind::read_part:
    case Event::Kind::learned:
      handle_pointer(event, now);
      break;
    case Event::Kind::drain:
      break;  // advance() drains after every event
    case Event::Kind::absorbed:
      writes_announced_ -= event.index;
      break;
    case Event::Kind::lazy_aged:
      lazy_aged(event.index, now);
      break;
  }
}

void Dimm::dram_send(std::uint64_t id, Address address, Op op, Tick now) {
  Request request;
  request.id = id;
  request.address = address;
  request.op = op;
  media_.budget().draw(dram_power_, now);
  if (!dram_backlog_.empty() || !dram_.try_send(request, now).accepted) {
    dram_backlog_.push_back(request);
  } else {
    dram_next_ = dram_.next_event();
  }
}

void Dimm::dram_completions(Tick now) {
  for (std::size_t i = 0; i < dram_sink_.size(); ++i) {
    const Completion completion = dram_sink_[i];
    if (completion.kind != Completion::Kind::done || (completion.id & posted) != 0) continue;
    if ((completion.id & table_flag) != 0) {
      if ((completion.id & pointer_flag) != 0) {
        pointer_arrived(completion.id, now);
      } else {
        table_arrived(static_cast<Index>(completion.id & ~table_flag), now);
      }
    } else {
      dram_line_arrived(static_cast<Index>(completion.id >> 8),
                        static_cast<std::uint32_t>(completion.id & 0xff), now);
    }
  }
  dram_sink_.clear();
  while (!dram_backlog_.empty() && dram_.try_send(dram_backlog_.front(), now).accepted) {
    dram_backlog_.pop_front();
  }
}

void Dimm::state(Archive& archive) {
  archive(lsq_, rmw_, sectors_, rmw_data_, lane_free_, middle_, ait_, wear_, page_reads_, media_,
          dram_);
  archive(events_, next_, dram_next_, reads_, transfers_, writes_, arrivals_, stalled_,
          untranslated_, dram_backlog_, writes_announced_, writes_under_way_, writes_on_bus_,
          notices_owed_, fenced_writes_, data_in_use_, content_);
  archive(lazy_, admission_);
  if (pretranslation_) archive(*pretranslation_);
  archive(read_lines_, write_lines_, lsq_forwards_, rmw_hits_, rmw_misses_, merges_, media_writes_,
          minor_stalls_, table_reads_, table_writes_, settled_);
}

void Dimm::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "read_lines", read_lines_);
  counters.add(prefix + "write_lines", write_lines_);
  counters.add(prefix + "lsq.forwards", lsq_forwards_);
  lsq_.register_counters(counters, prefix + "lsq.");
  counters.add(prefix + "rmw.hits", rmw_hits_);
  counters.add(prefix + "rmw.misses", rmw_misses_);
  if (middle_) middle_->register_counters(counters, prefix + "middle.");
  if (ait_) ait_->register_counters(counters, prefix + "ait.");
  counters.add(prefix + "table.reads", table_reads_);
  counters.add(prefix + "table.writes", table_writes_);
  media_.register_counters(counters, prefix + "media.");
  counters.add(prefix + "media.writes", media_writes_);
  counters.add(prefix + "media.merges", merges_);
  wear_.register_counters(counters, prefix + "wear.");
  counters.add(prefix + "wear.minor_stalls", minor_stalls_);
  if (pretranslation_) {
    pretranslation_->register_counters(counters, prefix + "pretranslation.");
    counters.add(prefix + "energy.rlb_pj", [this] {
      return static_cast<std::uint64_t>(static_cast<double>(pretranslation_->buffer_accesses()) *
                                        config_.pretranslation->rlb_pj);
    });
  }
  if (lazy_) {
    lazy_->register_counters(counters, prefix + "lazy.");
    admission_->register_counters(counters, prefix + "lazy.");
    counters.add(prefix + "energy.lazy_pj", [this] {
      return static_cast<std::uint64_t>(static_cast<double>(lazy_->accesses()) *
                                        config_.lazy->access_pj);
    });
  }
  dram_.register_counters(counters, prefix + "dram.");
  counters.add(prefix + "energy.sram_pj", [this] { return sram_pj(); });
  counters.add(prefix + "energy.idle_pj", [this] { return idle_pj(); });
}

/// Lines come from the host and go to it, and come from the media and go to them.
std::uint64_t Dimm::sram_pj() const {
  const std::uint64_t lines =
      read_lines_ + write_lines_ + media_.blocks() * geometry_.lines_per_block();
  return static_cast<std::uint64_t>(static_cast<double>(lines) * config_.power.line_pj);
}

/// The idle power, but for the DRAM's part of it, which counts for itself.
std::uint64_t Dimm::idle_pj() const {
  const auto milliwatts = static_cast<std::uint64_t>(config_.power.idle_mw);
  const auto all = static_cast<unsigned __int128>(settled_.ps()) * milliwatts / 1000;
  const dram::Energy dram = dram_.energy();
  return static_cast<std::uint64_t>(all) - dram.standby - dram.powerdown - dram.self_refresh;
}

}  // namespace nearfar::sim::nvdimm
