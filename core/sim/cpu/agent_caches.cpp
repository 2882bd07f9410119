#include <algorithm>

#include "sim/cpu/agent.h"

/// The agent's way through the caches.
namespace nearfar::sim::cpu {

/// They are made when first used, for their tags take a few MiB.
void Agent::open_caches() {
  if (!caches_) caches_ = std::make_unique<Hierarchy>(config_.caches, caches_seed_);
  caches_->add_cores(std::min<std::size_t>(threads_.size(), config_.cores));
}

/// Looks a load, or the line that a store needs, up. False if it has to be tried again, when
/// something of the thread has arrived.
bool Agent::ask_caches(const Flight& flight, Tick at) {
  open_caches();
  const Index index = flights_.take(flight);
  const Hierarchy::Answer answer = look_up(index, at);
  if (answer.state != Hierarchy::Answer::State::full) return true;
  flights_.give_back(index);
  threads_[flight.thread].socket_full = answer.level == Hierarchy::Level::l3;
  return false;
}

/// Asks the caches for the line of what is in flight. A store that walks counts as one that has
/// asked memory, until it is known better.
Hierarchy::Answer Agent::look_up(Index index, Tick at) {
  const Flight& flight = flights_[index];
  Thread& thread = threads_[flight.thread];
  const bool store = flight.kind == Flight::Kind::store_line;
  Hierarchy::Answer answer =
      flight.marked ? access_marked(index)
                    : caches_->access(thread.core, flight.address,
                                      store ? Hierarchy::Kind::store : Hierarchy::Kind::load, index,
                                      flight.translated);
  caches_->follow(thread.core, flight.address, at, answer);
  send_transfers(at);
  std::uint8_t lines = 0;
  switch (answer.state) {
    case Hierarchy::Answer::State::full:
      return answer;
    case Hierarchy::Answer::State::hit:
      flights_[index].release = answer.level != Hierarchy::Level::l1;
      events_.push(at + answer.latency, {Event::Kind::arrive, index});
      break;
    case Hierarchy::Answer::State::waits:
      if (store && answer.asked) lines = lines_of_store();
      break;
    case Hierarchy::Answer::State::walks:
      if (store) lines = lines_of_store();
      break;
  }
  thread.store_lines += lines;
  thread.store_lines -= flights_[index].store_lines;
  flights_[index].store_lines = lines;
  return answer;
}

/// A marked load, asked for the first time at its step, and perhaps again when that is past.
Hierarchy::Answer Agent::access_marked(Index index) {
  const Flight& flight = flights_[index];
  const Thread& thread = threads_[flight.thread];
  if (!flight.translated) leads_to_[index] = thread.step.leads_to;
  const Place place{.physical = flight.address,
                    .virtual_address = flight.address,
                    .huge = config_.caches.tlb.page > Tlb::small_page,
                    .translated = flight.translated,
                    .leads_to = leads_to_.at(index)};
  const Hierarchy::Answer answer =
      caches_->access(thread.core, place, Hierarchy::Kind::load, index);
  caches_->mark(thread.core, place, answer);
  return answer;
}

/// A walk is over: the threads that waited for it ask again.
void Agent::walked(Hierarchy::Walk walk, Tick now) {
  walked_.clear();
  caches_->walked(walk, walked_);
  send_transfers(now);
  for (const Index index : walked_) {
    flights_[index].translated = true;
    if (look_up(index, now).state != Hierarchy::Answer::State::full) continue;
    const std::uint16_t core = threads_[flights_[index].thread].core;
    if (core >= translated_.size()) translated_.resize(core + std::size_t{1});
    translated_[core].push_back(index);
    ++translated_count_;
  }
  if (config_.caches.pretranslation.enabled) unchecked_arrived(now);
}

/// Data that had to wait for the walk.
void Agent::unchecked_arrived(Tick now) {
  woken_.clear();
  woken_.swap(caches_->arrivals());
  for (std::size_t i = 0; i < woken_.size(); ++i) {
    const std::uint16_t core = threads_[flights_[woken_[i]].thread].core;
    arrived(woken_[i], now);
    resume_core(core, now);
  }
  woken_.clear();
}

/// What Pre-translation has to say: of reads that are uncertain no longer, and of pointers.
void Agent::send_pointers(Tick now) {
  uncertain_.settle(
      caches_->resolutions(), flights_,
      [&](Index flight, bool right) { uncore_.resolve(request_of(flight), right, now); },
      [&](Index flight) { events_.push(now, {Event::Kind::send, flight}); });
  caches_->resolutions().clear();
  for (const PointerUpdate& update : caches_->updates()) {
    device_.learn(update.pointer, update.frame, now + config_.caches.pretranslation.update);
  }
  caches_->updates().clear();
}

/// A register is free: what has been walked to and found none comes first.
void Agent::ask_translated(std::uint16_t core, Tick now) {
  if (translated_count_ == 0 || core >= translated_.size()) return;
  std::deque<Index>& waiting = translated_[core];
  while (!waiting.empty() &&
         look_up(waiting.front(), now).state != Hierarchy::Answer::State::full) {
    waiting.pop_front();
    --translated_count_;
  }
}

/// For the oldest store, whose line came and went.
bool Agent::ask_again(std::uint16_t index, Tick now) {
  Thread& thread = threads_[index];
  QueuedStore& store = thread.stores.front();
  const Flight flight{.kind = Flight::Kind::store_line,
                      .thread = index,
                      .translated = true,
                      .issued = now,
                      .serial = thread.first_store,
                      .address = store.address};
  if (!ask_caches(flight, now)) return false;
  store.asked = true;
  ++thread.loads;
  return true;
}

/// How long an uncached load takes that finds its line in the caches.
std::optional<Tick> Agent::found_in_caches(std::uint16_t thread, Address address) const {
  if (!caches_) return std::nullopt;
  const std::optional<Hierarchy::Level> level = caches_->where(threads_[thread].core, address);
  return level ? std::optional(caches_->latency(*level)) : std::nullopt;
}

void Agent::send(Index index, Tick now) {
  const Flight& flight = flights_[index];
  const std::uint16_t core = threads_[flight.thread].core;
  if (flight.given_up) {
    flights_.give_back(index);
    return;
  }
  if ((flight.marks & pretranslation::uncertain) != 0 && !uncertain_.may_enter(index)) return;
  if (flight.kind == Flight::Kind::fill && flight.marks == 0 &&
      uncore_.reads_wait(flight.address) &&
      caches_->drop(static_cast<Hierarchy::Miss>(flight.serial))) {
    flights_.give_back(index);
    resume_core(core, now);
    return;
  }
  const bool eviction = flight.kind == Flight::Kind::eviction;
  uncore_.send(request_of(index),
               caches_ ? caches_->waits_at(core, flight.address, eviction) : core, now);
}

Request Agent::request_of(Index index) const {
  const Flight& flight = flights_[index];
  Request request;
  request.id = index;
  request.address = flight.address;
  request.op = flight.reads() ? Op::read : Op::write;
  request.marks = flight.marks;
  request.pointer_offset = flight.pointer_offset;
  return request;
}

/// What came with a read, if anything did.
std::uint64_t Agent::frame_of(Index flight) {
  if (frames_.empty()) return Hierarchy::no_frame;
  const auto found = frames_.find(flight);
  if (found == frames_.end()) return Hierarchy::no_frame;
  const std::uint64_t frame = found->second;
  frames_.erase(found);
  return frame;
}

void Agent::send_transfers(Tick at) {
  if (config_.caches.pretranslation.enabled) send_pointers(at);
  for (const Hierarchy::Transfer& transfer : caches_->transfers()) {
    const Flight flight{.kind = transfer.write ? Flight::Kind::eviction : Flight::Kind::fill,
                        .thread = transfer.core,
                        .marks = transfer.marks,
                        .pointer_offset = transfer.pointer_offset,
                        .issued = at,
                        .serial = transfer.miss,
                        .address = Address(transfer.line * line_bytes)};
    launch(flight, transfer.write ? config_.flush_out : transfer.delay + config_.read_out);
  }
  caches_->transfers().clear();
  caches_->date_prefetches(at);
  for (const Hierarchy::End& end : caches_->ends()) {
    events_.push(at + end.delay, {Event::Kind::walked, end.walk});
  }
  caches_->ends().clear();
}

void Agent::fill(const Flight& flight, std::uint64_t frame, Tick now) {
  woken_.clear();
  caches_->filled(static_cast<Hierarchy::Miss>(flight.serial), woken_, frame);
  send_transfers(now);
  // What is woken issues what comes after it, but fills nothing: `woken_` stays as it is.
  for (std::size_t i = 0; i < woken_.size(); ++i) arrived(woken_[i], now);
  resume_core(flight.thread, now);
  if (translated_count_ != 0) {
    for (std::size_t core = 0; core < translated_.size(); ++core) {
      ask_translated(static_cast<std::uint16_t>(core), now);
    }
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (!threads_[i].socket_full) continue;
    threads_[i].socket_full = false;
    resume(static_cast<std::uint16_t>(i), now);
  }
}

/// Takes the programs' first steps, round and round, without time: their cached accesses leave
/// the lines they leave in the caches.
void Agent::warm_caches(std::uint64_t lines) {
  open_caches();
  for (std::uint64_t done = 0; done < lines;) {
    const std::uint64_t before = done;
    for (std::size_t i = 0; i < threads_.size() && done < lines; ++i) {
      if (warm_line(static_cast<std::uint16_t>(i))) ++done;
    }
    if (done == before) break;
  }
  caches_->forget_counts();
}

/// The thread's steps up to its next cached line; false when there is none.
bool Agent::warm_line(std::uint16_t thread) {
  Step step;
  while (threads_[thread].program->next(step)) {
    if (!cached(step)) continue;
    caches_->warm(threads_[thread].core, step.address,
                  step.kind == Step::Kind::load ? Hierarchy::Kind::load : Hierarchy::Kind::store);
    if (step.kind == Step::Kind::store_clwb) caches_->flush(step.address, config_.clwb_keeps);
    if (!step.again) return true;
  }
  return false;
}

}  // namespace nearfar::sim::cpu
