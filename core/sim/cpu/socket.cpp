#include "sim/cpu/socket.h"

#include <stdexcept>

namespace nearfar::sim::cpu {

Socket::Socket(Device& device, const Config& config, std::uint64_t seed)
    : device_(device),
      config_(config),
      uncore_(device, config.reorder_reads, config.reorder_writes, seed),
      caches_(config.caches, seed),
      uncertain_(config.caches.pretranslation.uncertain) {
  caches_.read_tables_by(
      [this](Core core, Address address) { return clients_[core]->translation(address); });
}

Socket::Core Socket::attach(Client& client) {
  clients_.push_back(&client);
  lacks_.push_back(Lacks::nothing);
  caches_.add_cores(clients_.size());
  return static_cast<Core>(clients_.size() - 1);
}

Hierarchy::Answer Socket::access(Core core, const Place& place, Hierarchy::Kind kind,
                                 Waiter waiter) {
  const Slab<Asker>::Index asker = askers_.take({.core = core, .waiter = waiter});
  Hierarchy::Answer answer = caches_.access(core, place, kind, asker);
  caches_.follow(core, place.physical, now_, answer);
  if (place.leads_to != Address{}) caches_.mark(core, place, answer);
  send_transfers(now_);
  if (answer.state == Hierarchy::Answer::State::waits ||
      answer.state == Hierarchy::Answer::State::walks) {
    return answer;
  }
  askers_.give_back(asker);
  if (answer.state == Hierarchy::Answer::State::full) {
    lacks_[core] =
        answer.level == Hierarchy::Level::l3 ? Lacks::socket_register : Lacks::own_register;
  } else if (answer.level != Hierarchy::Level::l1) {
    events_.push(now_ + answer.latency, {Event::Kind::release, core, 0});
  }
  return answer;
}

void Socket::call_at(Tick time, Core core, Waiter token) {
  events_.push(max(time, now_), {Event::Kind::due, core, token});
}

void Socket::nt_store(Core core, Address line, Tick at) {
  const Tick issued = max(at, now_);
  launch({.kind = Traffic::nt_store, .core = core, .issued = issued, .address = line},
         issued + config_.nt_out);
}

void Socket::flush(Core core, Address line) {
  launch({.kind = Traffic::flush, .core = core, .issued = now_, .address = line},
         now_ + config_.flush_out);
}

void Socket::fence(Core core, bool full, Tick at) {
  if (fence_watch_) fence_watch_(core, full, now_);
  if (full) events_.push(max(at, now_), {Event::Kind::fence, core, 0});
}

void Socket::move_line(Address line, bool write, std::uint64_t id, Tick at) {
  launch({.kind = write ? Traffic::move_write : Traffic::move_read,
          .issued = at,
          .id = id,
          .address = line},
         max(at, now_));
}

void Socket::launch(const Flight& flight, Tick at) {
  const std::uint32_t index = flights_.take(flight);
  if ((flight.marks & pretranslation::uncertain) != 0) {
    uncertain_.launched(static_cast<Hierarchy::Miss>(flight.id), index);
  }
  events_.push(at, {Event::Kind::send, flight.core, index});
}

/// What Pre-translation has to say: of reads that are uncertain no longer, and of pointers.
void Socket::send_pointers() {
  uncertain_.settle(
      caches_.resolutions(), flights_,
      [&](std::uint32_t flight, bool right) { uncore_.resolve(request_of(flight), right, now_); },
      [&](std::uint32_t flight) {
        events_.push(now_, {Event::Kind::send, flights_[flight].core, flight});
      });
  caches_.resolutions().clear();
  for (const PointerUpdate& update : caches_.updates()) {
    device_.learn(update.pointer, update.frame, now_ + config_.caches.pretranslation.update);
  }
  caches_.updates().clear();
}

Request Socket::request_of(std::uint32_t index) const {
  const Flight& flight = flights_[index];
  Request request;
  request.id = index;
  request.address = flight.address;
  request.op = reads(flight.kind) ? Op::read : Op::write;
  request.marks = flight.marks;
  request.pointer_offset = flight.pointer_offset;
  return request;
}

void Socket::send_transfers(Tick at) {
  if (config_.caches.pretranslation.enabled) send_pointers();
  for (const Hierarchy::Transfer& transfer : caches_.transfers()) {
    const Flight flight{.kind = transfer.write   ? Traffic::eviction
                                : transfer.table ? Traffic::table
                                                 : Traffic::fill,
                        .core = transfer.core,
                        .marks = transfer.marks,
                        .pointer_offset = transfer.pointer_offset,
                        .issued = at,
                        .id = transfer.miss,
                        .address = Address(transfer.line * line_bytes)};
    launch(flight, at + (transfer.write ? config_.flush_out : transfer.delay + config_.read_out));
  }
  caches_.transfers().clear();
  caches_.date_prefetches(at);
  for (const Hierarchy::End& end : caches_.ends()) {
    events_.push(at + end.delay, {Event::Kind::walked, end.core, end.walk});
  }
  caches_.ends().clear();
}

bool Socket::step(Tick until) {
  if (until <= now_ && events_.next() > now_) return false;
  const Tick bound = max(now_, min(events_.next(), until));
  const Tick reached = device_.advance_to_completion(bound, sink_);
  if (reached.is_never()) throw std::logic_error("the memory has forgotten a request");
  now_ = reached;
  bool happened = !sink_.empty();
  for (std::size_t i = 0; i < sink_.size(); ++i) {
    const Completion completion = sink_[i];
    if (completion.kind == Completion::Kind::wake) {
      uncore_.wake(static_cast<std::uint16_t>(completion.id), now_);
    } else if (completion.kind == Completion::Kind::done) {
      accepted(static_cast<std::uint32_t>(completion.id));
    } else if (completion.kind == Completion::Kind::entry) {
      frames_[static_cast<std::uint32_t>(completion.id)] = completion.data;
    }
  }
  sink_.clear();
  while (events_.next() <= now_) {
    handle(events_.pop());
    happened = true;
  }
  return happened;
}

void Socket::send(std::uint32_t index) {
  const Flight& flight = flights_[index];
  if (flight.given_up) {
    flights_.give_back(index);
    return;
  }
  if ((flight.marks & pretranslation::uncertain) != 0 && !uncertain_.may_enter(index)) return;
  if (flight.kind == Traffic::fill && flight.marks == 0 && uncore_.reads_wait(flight.address) &&
      caches_.drop(static_cast<Hierarchy::Miss>(flight.id))) {
    const Core core = flight.core;
    flights_.give_back(index);
    retry(core);
    return;
  }
  if (watch_) watch_(flight.kind, flight.core, flight.address, now_);
  uncore_.send(request_of(index),
               caches_.waits_at(flight.core, flight.address, flight.kind == Traffic::eviction),
               now_);
}

void Socket::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::send:
      send(event.index);
      break;
    case Event::Kind::arrive:
      arrived(event.index);
      break;
    case Event::Kind::due:
      clients_[event.core]->due(event.index, now_);
      break;
    case Event::Kind::walked:
      walked(event.index);
      break;
    case Event::Kind::release:
      caches_.release(event.core, now_);
      retry(event.core);
      break;
    case Event::Kind::flush_free:
      clients_[event.core]->flush_freed(now_);
      break;
    case Event::Kind::fence:
      device_.fence(now_);
      break;
  }
}

void Socket::accepted(std::uint32_t index) {
  Tick back{};
  switch (flights_[index].kind) {
    case Traffic::fill:
    case Traffic::table:
      back = config_.read_back;
      break;
    case Traffic::nt_store:
      back = config_.nt_back;
      break;
    case Traffic::flush:
      back = config_.flush_back;
      break;
    case Traffic::eviction:
    case Traffic::move_read:
    case Traffic::move_write:
      break;
  }
  if (back == Tick{}) {
    arrived(index);
  } else {
    events_.push(now_ + back, {Event::Kind::arrive, flights_[index].core, index});
  }
}

void Socket::arrived(std::uint32_t index) {
  const Flight flight = flights_[index];
  flights_.give_back(index);
  switch (flight.kind) {
    case Traffic::fill:
    case Traffic::table:
      fill(flight, frame_of(index));
      break;
    case Traffic::eviction:
      caches_.written(flight.core);
      retry(flight.core);
      break;
    case Traffic::nt_store:
      clients_[flight.core]->nt_stored(now_);
      break;
    case Traffic::flush: {
      const Tick free = flight.issued + config_.flush_occupancy;
      clients_[flight.core]->flushed(now_);
      events_.push(max(free, now_), {Event::Kind::flush_free, flight.core, 0});
      break;
    }
    case Traffic::move_read:
    case Traffic::move_write:
      moved_(flight.id, now_);
      break;
  }
}

/// What came with a read, if anything did.
std::uint64_t Socket::frame_of(std::uint32_t flight) {
  if (frames_.empty()) return Hierarchy::no_frame;
  const auto found = frames_.find(flight);
  if (found == frames_.end()) return Hierarchy::no_frame;
  const std::uint64_t frame = found->second;
  frames_.erase(found);
  return frame;
}

void Socket::fill(const Flight& flight, std::uint64_t frame) {
  woken_.clear();
  caches_.filled(static_cast<Hierarchy::Miss>(flight.id), woken_, frame);
  send_transfers(now_);
  // A woken core asks for what comes after, but fills nothing: `woken_` stays as it is.
  for (std::size_t i = 0; i < woken_.size(); ++i) {
    const Asker asker = askers_[woken_[i]];
    askers_.give_back(woken_[i]);
    clients_[asker.core]->arrived(asker.waiter, now_);
    retry(asker.core);
  }
  retry(flight.core);
  for (std::size_t core = 0; core < lacks_.size(); ++core) {
    if (lacks_[core] == Lacks::socket_register) retry(static_cast<Core>(core));
  }
}

void Socket::walked(Hierarchy::Walk walk) {
  translated_.clear();
  caches_.walked(walk, translated_);
  send_transfers(now_);
  // A core that is told asks for lines, but ends no walk: `translated_` stays as it is.
  for (std::size_t i = 0; i < translated_.size(); ++i) {
    const Asker asker = askers_[translated_[i]];
    askers_.give_back(translated_[i]);
    clients_[asker.core]->translated(asker.waiter, now_);
  }
  if (config_.caches.pretranslation.enabled) unchecked_arrived();
}

/// Data that had to wait for the walk.
void Socket::unchecked_arrived() {
  woken_.clear();
  woken_.swap(caches_.arrivals());
  for (std::size_t i = 0; i < woken_.size(); ++i) {
    const Asker asker = askers_[woken_[i]];
    askers_.give_back(woken_[i]);
    clients_[asker.core]->arrived(asker.waiter, now_);
    retry(asker.core);
  }
  woken_.clear();
}

void Socket::retry(Core core) {
  if (lacks_[core] == Lacks::nothing) return;
  lacks_[core] = Lacks::nothing;
  clients_[core]->retry(now_);
}

}  // namespace nearfar::sim::cpu
