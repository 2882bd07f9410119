#include "sim/imc/near_memory.h"

#include <bit>
#include <string>
#include <utility>

#include "base/error.h"

namespace nearfar::sim::imc {
namespace {

/// Callers of App Direct keep their ports; those of the requests made here come first.
std::uint16_t direct_port(std::uint16_t port, std::uint32_t first) {
  const std::uint32_t moved = first + port;
  if (moved > 0xffff) {
    throw InputError("port " + std::to_string(port) + " is more than near memory can pass on");
  }
  return static_cast<std::uint16_t>(moved);
}

constexpr std::uint32_t far_ports = 512;  // two for each of at most 256 queues

}  // namespace

NearMemory::NearMemory(const NearConfig& config, std::unique_ptr<Device> near,
                       std::unique_ptr<Device> far)
    : config_(config),
      near_(std::move(near)),
      far_(std::move(far)),
      blocks_(config.blocks()),
      directory_(config.sets(), config.ways, config.policy, config.seed),
      to_near_(*near_),
      to_far_(*far_) {
  check(config, near_->capacity(), far_->capacity());
  cached_bytes_ = far_->capacity() - config.app_direct;
  if (config.tags == NearTags::data) tag_lines_ = (config.ways + 7) / 8;
  const std::uint32_t queues = near_->queues() / config.subchannels;
  gates_.resize(std::size_t{2} * queues);
  for (std::size_t i = 0; i < gates_.size(); ++i) {
    gates_[i].size = i % 2 == 0 ? config.reads : config.writes;
  }
  most_prefetches_ = queues * config.reads;
  const std::uint32_t flights = queues * (config.reads + config.writes) + most_prefetches_;
  const std::uint32_t chains = std::bit_ceil(2 * flights);
  chains_.assign(chains, no_flight);
  chain_shift_ = static_cast<std::uint32_t>(64 - std::countr_zero(chains));
  far_next_ = far_->next_event();
}

Accept NearMemory::try_send(const Request& request, Tick now) {
  if (!cached(request.address)) return send_direct(request, now);
  const std::uint64_t line = request.address.value() / config_.line;
  const std::uint64_t set = directory_.set_of(line);
  const bool write = request.op == Op::write;
  const std::uint32_t queue = gates_.size() == 2 ? 0 : near_channel(set);
  const std::uint32_t number = 2 * queue + (write ? 1 : 0);
  Gate& gate = gates_[number];
  if (!gate.waiting.may_enter(request.port, gate.size - gate.used, now)) {
    return refuse(number, request.port, now);
  }
  ++gate.used;
  ++(write ? counters_.writes : counters_.reads);
  const Index index = flights_.take_any();
  Flight& flight = flights_[index];
  flight.request = request;
  flight.sent = now;
  flight.line = line;
  flight.set = set;
  flight.gate = number;
  flight.block = static_cast<std::uint8_t>(request.address.value() % config_.line / line_bytes);
  flight.outcome = Case::waiting;
  flight.prefetch = false;
  flight.pending = 1;  // the look-up
  if (write) {
    ++flight.pending;
    events_.push(accepted, now, index);
  }
  enter(index, now);
  return Accept::yes();
}

[[gnu::noinline]] Accept NearMemory::refuse(std::uint32_t gate, std::uint16_t port, Tick now) {
  ++counters_.refusals;
  gates_[gate].waiting.refuse(port);
  if (gates_[gate].used < gates_[gate].size) {
    events_.push(hold_lapsed, now + Tick(1), gate);
  }
  return Accept::retry(Tick::never());
}

/// App Direct: the far memory itself answers, refuses and wakes.
[[gnu::noinline]] Accept NearMemory::send_direct(const Request& request, Tick now) {
  const Index index = flights_.take_any();
  Flight& flight = flights_[index];
  flight.request = request;
  flight.outcome = Case::direct;
  flight.pending = request.op == Op::write && request.tell_media ? 2 : 1;
  Request passed = request;
  passed.id = Tag{Role::direct, 0, index, 0}.id();
  passed.port = direct_port(request.port, far_ports);
  const Accept answer = far_->try_send(passed, now);
  far_next_ = far_->next_event();
  if (!answer.accepted) {
    flights_.give_back(index);
    return answer;
  }
  ++(request.op == Op::write ? counters_.direct_writes : counters_.direct_reads);
  return answer;
}

void NearMemory::finish_direct(Index index, const Completion& completion, Sink& sink) {
  Flight& flight = flights_[index];
  Completion told = completion;
  told.id = flight.request.id;
  told.address = flight.request.address;
  sink.push_back(told);
  if (--flight.pending == 0) flights_.give_back(index);
}

void NearMemory::fence(Tick now) {
  near_->fence(now);
  far_->fence(now);
  far_next_ = far_->next_event();
}

void NearMemory::advance(Tick until, Sink& sink) { run(until, sink, false); }

Tick NearMemory::advance_to_completion(Tick until, Sink& sink) { return run(until, sink, true); }

/// Plays what is due first; at equal times near memory comes before far memory, and either
/// before what is noted here. Each memory runs by itself as far as nothing else happens.
Tick NearMemory::run(Tick until, Sink& sink, bool to_completion) {
  const std::size_t before = sink.size();
  while (true) {
    // Memories may refresh themselves for ever.
    if (until.is_never() && flights_.in_use() == 0 && idle()) break;
    const Tick near = near_->next_event();
    const Tick far = far_next_;
    const Tick own = events_.next();
    Tick now = min(near, min(far, own));
    if (now > until || now.is_never()) break;
    if (near == now) {
      near_->advance_to_completion(min(until, min(far, own)), from_near_);
      if (from_near_.size() == 1 && probed_alone(from_near_.front(), until)) {
        const Index index = Tag::of(from_near_.front().id).flight;
        now = from_near_.front().time + config_.latency;
        from_near_.clear();
        --flights_[index].pending;
        if (flights_[index].outcome == Case::read_hit && tag_lines_ == 0) {
          hit(index, now, sink);
          if (to_completion && sink.size() != before) return now;
        } else {
          looked_up(index, now, sink);
        }
      } else if (!from_near_.empty()) {
        now = from_near_.front().time;
        for (const Completion& completion : from_near_) from_near(completion, now, sink);
        from_near_.clear();
      }
    } else if (far == now) {
      far_->advance_to_completion(min(until, min(near - Tick(1), own)), from_far_);
      for (std::size_t i = 0; i < from_far_.size(); ++i) {
        now = from_far_[i].time;
        from_far(from_far_[i], now, sink);
      }
      from_far_.clear();
      far_next_ = far_->next_event();
    } else {
      while (events_.next() == now) {
        const auto [lane, index] = events_.pop();
        handle(lane, index, now, sink);
      }
    }
    // The rest of this instant has its turn before the caller is told.
    if (to_completion && sink.size() != before) until = now;
  }
  return until;
}

/// The look-up of a read has brought its data.
void NearMemory::hit(Index index, Tick now, Sink& sink) {
  const Flight& flight = flights_[index];
  if (!flight.prefetch) answer(index, stored(flight.line, flight.block), now, sink);
  over(index, now, sink);
}

/// Whether a look-up ends with this and nothing else happens, by `until`, before it has an outcome:
/// then that need not be an event.
bool NearMemory::probed_alone(const Completion& completion, Tick until) const {
  if (completion.kind != Completion::Kind::done) return false;
  const Tag tag = Tag::of(completion.id);
  const Tick outcome = completion.time + config_.latency;
  return tag.role == Role::probe && flights_[tag.flight].probes == 1 && outcome <= until &&
         outcome < min(near_->next_event(), min(far_next_, events_.next()));
}

void NearMemory::from_near(const Completion& completion, Tick now, Sink& sink) {
  if (completion.kind == Completion::Kind::wake) {
    to_near_.wake(completion.id, now, [&](const Request& late) { taken_late(late, now, sink); });
    return;
  }
  const Tag tag = Tag::of(completion.id);
  if (completion.kind == Completion::Kind::media) {
    if (tag.role != Role::claim) return tell_arrival(tag.notice, now, sink);
    write(tag.flight, now);
    over(tag.flight, now, sink);
    return;
  }
  switch (tag.role) {
    case Role::probe:
      probed(tag.flight, now, sink);
      over(tag.flight, now, sink);
      break;
    case Role::data: {
      const Flight& flight = flights_[tag.flight];
      answer(tag.flight, stored(flight.line, flight.block), now, sink);
      over(tag.flight, now, sink);
      break;
    }
    case Role::victim:
      write_victim(tag.flight, tag.block, now);
      --flights_[tag.flight].victims;
      fill(tag.flight, now);
      over(tag.flight, now, sink);
      break;
    default:  // that a write was taken is known already
      break;
  }
}

void NearMemory::from_far(const Completion& completion, Tick now, Sink& sink) {
  if (completion.kind == Completion::Kind::wake) {
    if (completion.id < far_ports) {
      to_far_.wake(completion.id, now, [&](const Request& late) { taken_late(late, now, sink); });
    } else {
      sink.push_back(completion);
      sink.back().id -= far_ports;
    }
    return;
  }
  const Tag tag = Tag::of(completion.id);
  if (tag.role == Role::direct) {
    finish_direct(tag.flight, completion, sink);
  } else if (completion.kind == Completion::Kind::media) {
    tell_arrival(tag.notice, now, sink);
  } else if (tag.role == Role::fetch) {
    arrived(tag.flight, tag.block, completion.data, now, sink);
    over(tag.flight, now, sink);
  }
}

void NearMemory::taken_late(const Request& request, Tick now, Sink& sink) {
  const Tag tag = Tag::of(request.id);
  if (request.op == Op::write && tag.role != Role::claim) over(tag.flight, now, sink);
}

void NearMemory::tell_arrival(Index notice, Tick now, Sink& sink) {
  const Notice& told = notices_[notice - 1];
  sink.push_back({now, told.id, told.address, Completion::Kind::media, told.data});
  notices_.give_back(notice - 1);
}

void NearMemory::handle(std::size_t lane, Index index, Tick now, Sink& sink) {
  switch (lane) {
    case accepted: {
      const Request& request = flights_[index].request;
      sink.push_back({now, request.id, request.address, Completion::Kind::done, request.data});
      over(index, now, sink);
      break;
    }
    case was_looked_up:
      looked_up(index, now, sink);
      break;
    default:
      wake_waiting(index, now, sink);
      break;
  }
}

/// Wakes as many ports as there are places that are not held for another. One that does not
/// come has lost its turn in the next instant.
void NearMemory::wake_waiting(std::uint32_t number, Tick now, Sink& sink) {
  Gate& gate = gates_[number];
  while (!gate.waiting.empty() && gate.size - gate.used > gate.waiting.held(now)) {
    gate.waiting.slot_freed(now, [&](std::uint16_t port) {
      sink.push_back({now, port, Address{}, Completion::Kind::wake, 0});
    });
  }
  if (!gate.waiting.empty() && gate.waiting.held(now) > 0) {
    events_.push(hold_lapsed, now + Tick(1), number);
  }
}

bool NearMemory::idle() const {
  return flights_.in_use() == 0 && notices_.in_use() == 0 && events_.next().is_never() &&
         near_->idle() && far_->idle();
}

std::uint32_t NearMemory::queue_of(Address address) const {
  if (!cached(address)) return near_queues() + far_->queue_of(address);
  return near_channel(directory_.set_of(address.value() / config_.line));
}

void NearMemory::settle(Tick now) {
  near_->settle(now);
  far_->settle(now);
  far_next_ = far_->next_event();
}

void NearMemory::state(Archive& archive) {
  near_->state(archive);
  far_->state(archive);
  archive(directory_, to_near_, to_far_, events_, far_next_, flights_, notices_, gates_, chains_,
          prefetches_, data_in_use_, content_, from_near_, from_far_, counters_);
}

void NearMemory::register_counters(Counters& counters) const {
  counters_.add_to(counters);
  Counters near;
  near_->register_counters(near);
  counters.add_below("near.", near);
  far_->register_counters(counters);
}

}  // namespace nearfar::sim::imc
