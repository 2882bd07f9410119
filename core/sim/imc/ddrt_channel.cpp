#include "sim/imc/ddrt_channel.h"

namespace nearfar::sim::imc {

DdrtConfig ddrt_config_from(const Settings& settings) {
  DdrtConfig config;
  config.wpq_lines = static_cast<std::uint32_t>(settings.count("imc.wpq.lines"));
  config.rpq_lines = static_cast<std::uint32_t>(settings.count("imc.rpq.lines"));
  config.request = settings.time("nvdimm.bus.request");
  config.grant = settings.time("nvdimm.bus.grant");
  config.line = settings.time("nvdimm.bus.line");
  config.turnaround = settings.time("nvdimm.bus.turnaround");
  return config;
}

DdrtChannel::DdrtChannel(const DdrtConfig& config, const nvdimm::Config& dimm, std::uint8_t channel,
                         dram::CommandLog* log)
    : config_(config), dimm_(dimm, channel, log), wpq_(config.wpq_lines) {}

// A lone read is most of what a dependent chase sends: what else may come is kept out of its way.
[[gnu::noinline]] Accept DdrtChannel::admit(const Request& request, Address device, Tick now) {
  const bool write = request.op == Op::write;
  send_lone();
  auto& waiting = write ? writes_waiting_ : reads_waiting_;
  const std::uint32_t free = free_slots(write);
  if (!write && writes_ > 0 && forward_from_wpq(request, device, now)) return Accept::yes();
  if (!waiting.may_enter(request.port, free, now)) {
    ++refusals_;
    waiting.refuse(request.port);
    if (free > 0) watch_hold(write, now);
    return Accept::retry(Tick::never());
  }
  if (write) {
    ++writes_accepted_;
    wpq_[(wpq_first_ + writes_) % config_.wpq_lines] = {request, device};
    ++writes_;
    ++unsent_;
    events_.push(now, {Event::Kind::write_accepted, pending_.take({request, device})});
    send_writes(now);
  } else {
    ++reads_accepted_;
    ++reads_;
    send_read(request, device, now + config_.request);
  }
  return Accept::yes();
}

void DdrtChannel::send_read(const Request& request, Address device, Tick arrives) {
  const Index read = pending_.take_any();
  pending_[read].request = request;
  pending_[read].holds_slot = true;
  dimm_.read(read, device, arrives);
}

/// Answers the read that was held back, if nothing else happens until its data are on the bus:
/// then, when it was done, else Tick::never().
[[gnu::flatten]] Tick DdrtChannel::answer_lone(Tick until, Sink& sink) {
  const nvdimm::Dimm::Hit hit = dimm_.hit(lone_.device, lone_arrives_);
  if (!hit) return Tick::never();
  const Tick start = max(hit.ready + config_.grant, bus_ready(false));
  const Tick done = start + config_.line;
  if (done > until || next_but_lone() <= done) return Tick::never();
  occupy_bus(false, start);
  sink.push_back({done, lone_.request.id, lone_.request.address, Completion::Kind::done,
                  dimm_.take(hit, lone_arrives_)});
  lone_arrives_ = Tick::never();
  --reads_;
  return done;
}

bool DdrtChannel::forward_from_wpq(const Request& request, Address device, Tick now) {
  for (std::uint32_t i = writes_; i-- > 0;) {
    const Pending& write = wpq_[(wpq_first_ + i) % config_.wpq_lines];
    if (write.device.block(line_bytes) != device.block(line_bytes)) continue;
    ++reads_accepted_;
    ++wpq_forwards_;
    Pending forwarded{request, device, false};
    forwarded.request.data = write.request.data;
    events_.push(now + config_.line, {Event::Kind::read_done, pending_.take(forwarded)});
    return true;
  }
  return false;
}

/// A line stays in the write pending queue until it has arrived at the DIMM.
DataHandle DdrtChannel::durable(Address device) const {
  for (std::uint32_t i = writes_; i-- > 0;) {
    const Pending& write = wpq_[(wpq_first_ + i) % config_.wpq_lines];
    if (write.device.block(line_bytes) == device.block(line_bytes)) return write.request.data;
  }
  return dimm_.durable(device);
}

void DdrtChannel::send_writes(Tick now) {
  while (unsent_ > 0 && dimm_.has_write_room()) {
    const std::uint32_t at = (wpq_first_ + writes_ - unsent_) % config_.wpq_lines;
    const Tick arrives = take_bus(true, now) + config_.line;
    dimm_.write(wpq_[at].request, wpq_[at].device, arrives);
    events_.push(arrives, {Event::Kind::write_sent, 0});
    --unsent_;
  }
}

Tick DdrtChannel::take_bus(bool write, Tick earliest) {
  const Tick start = max(earliest, bus_ready(write));
  occupy_bus(write, start);
  return start;
}

Tick DdrtChannel::bus_ready(bool write) const {
  const bool turns = bus_used_ && write != bus_last_write_;
  return turns ? bus_free_ + config_.turnaround : bus_free_;
}

Tick DdrtChannel::advance(Tick until, Sink& sink, bool to_completion) {
  if (has_lone()) {
    const Tick done = answer_lone(until, sink);
    if (to_completion && !done.is_never()) return done;
  }
  return play(until, sink, to_completion);
}

[[gnu::noinline]] Tick DdrtChannel::play(Tick until, Sink& sink, bool to_completion) {
  send_lone();
  const std::size_t before = sink.size();
  while (next_event() <= until) {
    // The DIMM plays by itself as far as nothing here can happen in between: up to the next
    // event here, or one step when its queue may make room for a write that waits.
    const Tick limit = min(until, events_.next());
    Tick now = limit;
    if (dimm_.next_event() <= limit) {
      now = dimm_.advance(unsent_ > 0 ? dimm_.next_event() : limit, replies_, sink);
      for (const auto& reply : replies_) {
        pending_[reply.tag].request.data = reply.data;
        const Tick done = take_bus(false, reply.time + config_.grant) + config_.line;
        const bool told = to_completion && sink.size() != before;
        if (replies_.size() == 1 && unsent_ == 0 && !told && done <= until && done < next_event()) {
          // Nothing else happens before, and there is nothing to report.
          now = done;
          handle({Event::Kind::read_done, reply.tag}, now, sink);
        } else {
          events_.push(done, {Event::Kind::read_done, reply.tag});
        }
      }
      replies_.clear();
      if (unsent_ > 0) send_writes(now);
    }
    if (dimm_.next_event() > now) {
      while (events_.next() <= now) handle(events_.pop(), now, sink);
    }
    // Nothing is played past an instant that has something to tell.
    if (to_completion && sink.size() != before) until = now;
  }
  return until;
}

void DdrtChannel::handle(const Event& event, Tick now, Sink& sink) {
  if (event.kind == Event::Kind::hold_lapsed) {
    const bool write = event.index != 0;
    const auto& waiting = write ? writes_waiting_ : reads_waiting_;
    while (!waiting.empty() && free_slots(write) > waiting.held(now)) wake_next(write, now, sink);
    return;
  }
  if (event.kind == Event::Kind::write_sent) {
    wpq_first_ = (wpq_first_ + 1) % config_.wpq_lines;
    --writes_;
    wake_next(true, now, sink);
    return;
  }
  const Pending& pending = pending_[event.index];
  const Request& request = pending.request;
  sink.push_back({now, request.id, request.address, Completion::Kind::done, request.data});
  if (pending.holds_slot) {
    --reads_;
    wake_next(false, now, sink);
  }
  pending_.give_back(event.index);
}

void DdrtChannel::wake_next(bool write, Tick now, Sink& sink) {
  if ((write ? writes_waiting_ : reads_waiting_).empty()) return;
  (write ? writes_waiting_ : reads_waiting_).slot_freed(now, [&](std::uint16_t port) {
    sink.push_back({now, port, Address{}, Completion::Kind::wake, 0});
  });
  watch_hold(write, now);
}

/// A slot is held at `now`. Should its port not come, those behind it have their turn in the
/// next instant, whether or not another slot ever frees.
void DdrtChannel::watch_hold(bool write, Tick now) {
  if ((write ? writes_waiting_ : reads_waiting_).empty()) return;
  events_.push(now + Tick(1), {Event::Kind::hold_lapsed, write ? 1u : 0u});
}

void DdrtChannel::state(Archive& archive) {
  archive(dimm_, events_, pending_, wpq_, wpq_first_, writes_, unsent_, reads_, lone_,
          lone_arrives_, bus_free_, bus_used_, bus_last_write_, reads_waiting_, writes_waiting_);
  archive(reads_accepted_, writes_accepted_, wpq_forwards_, refusals_, bus_busy_ps_);
}

void DdrtChannel::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "reads", reads_accepted_);
  counters.add(prefix + "writes", writes_accepted_);
  counters.add(prefix + "wpq.forwards", wpq_forwards_);
  counters.add(prefix + "refusals", refusals_);
  counters.add(prefix + "bus.busy_ps", bus_busy_ps_);
  dimm_.register_counters(counters, prefix + "dimm.");
}

}  // namespace nearfar::sim::imc
