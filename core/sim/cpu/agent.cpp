#include "sim/cpu/agent.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace nearfar::sim::cpu {
namespace {

constexpr std::uint64_t done_load = ~std::uint64_t{0};
constexpr std::uint32_t poll_interval = 1u << 16;

/// Whether the step ends when its flight does; other steps end when the thread goes on.
bool accesses(const Step& step) {
  return step.kind == Step::Kind::load || step.kind == Step::Kind::nt_load ||
         step.kind == Step::Kind::nt_store;
}

}  // namespace

Agent::Agent(Device& device, const Config& config, std::uint64_t seed)
    : device_(device),
      config_(config),
      uncore_(device, config.reorder_reads, config.reorder_writes, seed),
      rng_(seed + 1),
      uncertain_(config.caches.pretranslation.uncertain),
      caches_seed_(seed) {}

Agent::Measured Agent::run(std::vector<std::unique_ptr<Program>> programs, const Limits& limits,
                           const std::function<void()>& poll) {
  limits_ = limits;
  lines_ = leader_lines_ = 0;
  stopped_ = false;
  measured_ = Measured{};
  warm_at_ = last_at_ = now_;
  threads_.clear();
  threads_.resize(programs.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    threads_[i].program = std::move(programs[i]);
    threads_[i].at = threads_[i].table_at = now_;
    threads_[i].core = static_cast<std::uint16_t>(i % config_.cores);
    threads_[i].share = share_of(threads_[i].core);
  }
  caches_.reset();
  if (limits.untimed != 0 && config_.cached) warm_caches(limits.untimed);
  for (std::size_t i = 0; i < threads_.size(); ++i) run_thread(static_cast<std::uint16_t>(i), now_);

  std::uint32_t until_poll = poll_interval;
  while (flights_.in_use() != 0 || !events_.empty()) {
    const Tick now = device_.advance_to_completion(events_.next(), sink_);
    if (now.is_never()) throw std::logic_error("the memory has forgotten a request");
    now_ = now;
    if (!sink_.empty()) {
      for (std::size_t i = 0; i < sink_.size(); ++i) {
        const Completion completion = sink_[i];
        if (completion.kind == Completion::Kind::wake) {
          uncore_.wake(static_cast<std::uint16_t>(completion.id), now);
        } else if (completion.kind == Completion::Kind::done) {
          accepted(static_cast<Index>(completion.id), now);
        } else if (completion.kind == Completion::Kind::entry) {
          frames_[static_cast<Index>(completion.id)] = completion.data;
        }
      }
      sink_.clear();
    }
    while (events_.next() <= now) {
      const Event event = events_.pop();
      if (event.kind == Event::Kind::send) {
        send(event.index, now);
      } else if (event.kind == Event::Kind::arrive) {
        arrived(event.index, now);
      } else if (event.kind == Event::Kind::fence) {
        device_.fence(now);
      } else if (event.kind == Event::Kind::run) {
        run_thread(static_cast<std::uint16_t>(event.index), now);
      } else if (event.kind == Event::Kind::commit) {
        commit_stores(static_cast<std::uint16_t>(event.index), now);
      } else if (event.kind == Event::Kind::walked) {
        walked(event.index, now);
      } else {
        const auto thread = static_cast<std::uint16_t>(event.index);
        --threads_[thread].flushes;
        commit_stores(thread, now);
      }
    }
    if (--until_poll == 0) {
      until_poll = poll_interval;
      if (poll) poll();
    }
  }
  for (const Thread& thread : threads_) now_ = max(now_, thread.at);
  const Tick end = limits.lines == 0 ? now_ : last_at_;
  measured_.lines = lines_ - limits.warm_lines;
  measured_.elapsed = end - warm_at_;
  return std::move(measured_);
}

void Agent::run_thread(std::uint16_t index, Tick now) {
  Thread& thread = threads_[index];
  while (!thread.ended) {
    if (!thread.has_step) {
      if (stopped_ || !thread.program->next(thread.step)) {
        thread.ended = true;
        return;
      }
      thread.has_step = true;
      const Step& step = thread.step;
      if (step.timed && !accesses(step)) thread.program->began(step.tag, thread.at);
    }
    if (!can_issue(thread)) {
      thread.blocked = true;
      return;
    }
    if (thread.blocked) {
      thread.blocked = false;
      thread.at = max(thread.at, now);
    }
    if (thread.at > now && cached(thread.step)) {
      // What the caches hold is known only then.
      events_.push(thread.at, {Event::Kind::run, index});
      return;
    }
    if (!issue(index)) {
      thread.blocked = true;
      return;
    }
    thread.has_step = false;
  }
}

bool Agent::can_issue(const Thread& thread) const {
  const Step& step = thread.step;
  if (step.waits && thread.feeding) return false;
  const bool buffer = cached(step) || thread.buffers < thread.share.load_buffers;
  switch (step.kind) {
    case Step::Kind::load:
    case Step::Kind::nt_load:
      return buffer &&
             (thread.loads_out.empty() ||
              thread.instruction + step.instructions - thread.loads_out.front() < thread.share.rob);
    case Step::Kind::nt_store:
      return thread.fences == 0 && thread.nt_stores < thread.share.wc_buffers;
    case Step::Kind::store:
    case Step::Kind::store_clwb:
      return buffer && thread.stores.size() < thread.share.store_queue &&
             may_ask_for_line(thread) && thread.fences <= config_.fence_lines_ahead;
    case Step::Kind::mfence:
    case Step::Kind::wait:
      if (thread.loads != 0) return false;
      return drained(thread);
    case Step::Kind::sfence:
      return step.timed ? drained(thread) : thread.stores.size() < thread.share.store_queue;
    case Step::Kind::sample_begin:
    case Step::Kind::sample_end:
      return thread.fences == 0;
    case Step::Kind::table:
    case Step::Kind::delay:
      return true;
  }
  return true;
}

/// Whether the lines that a cached store brings in have room beside those on their way.
bool Agent::may_ask_for_line(const Thread& thread) const {
  if (thread.step.again || thread.store_lines == 0) return true;
  return thread.store_lines + lines_of_store() <= thread.share.store_lines;
}

bool Agent::cached(const Step& step) const {
  return config_.cached && (step.kind == Step::Kind::load || step.kind == Step::Kind::store ||
                            step.kind == Step::Kind::store_clwb);
}

/// False if the caches cannot take the step yet.
bool Agent::issue(std::uint16_t index) {
  Thread& thread = threads_[index];
  const Step& step = thread.step;
  switch (step.kind) {
    case Step::Kind::load:
    case Step::Kind::nt_load:
      if (!issue_load(index)) return false;
      break;
    case Step::Kind::nt_store:
      issue_nt_store(index);
      break;
    case Step::Kind::store:
    case Step::Kind::store_clwb:
      if (!issue_store(index)) return false;
      break;
    case Step::Kind::sfence:
      if (drained(thread)) {
        thread.at = max(thread.at, thread.ordered_at) + config_.sfence;
      } else {
        thread.stores.push_back({.kind = QueuedStore::Kind::fence});
        ++thread.fences;
      }
      break;
    case Step::Kind::mfence:
      thread.at = max(thread.at, thread.ordered_at);
      events_.push(max(thread.at, now_), {Event::Kind::fence, 0});
      thread.at += config_.mfence;
      break;
    case Step::Kind::table:
      // The index chain depends on nothing but itself: it runs ahead of the stores.
      thread.table_at += step.table_latency;
      thread.at = max(thread.at, thread.table_at);
      break;
    case Step::Kind::sample_begin:
      thread.at = max(thread.at, thread.ordered_at) + config_.timer;
      thread.sample_start = thread.at;
      break;
    case Step::Kind::sample_end:
      thread.at = max(thread.at, thread.ordered_at) + config_.timer;
      measured_.samples.push_back(thread.at - thread.sample_start);
      break;
    case Step::Kind::wait:
      thread.at = max(thread.at, thread.ordered_at);
      break;
    case Step::Kind::delay:
      thread.at += step.span;
      break;
  }
  if (step.timed && !accesses(step)) thread.program->done(step.tag, thread.at);
  return true;
}

bool Agent::issue_load(std::uint16_t index) {
  Thread& thread = threads_[index];
  const Step& step = thread.step;
  const std::uint64_t serial = thread.first_load + thread.loads_out.size();
  Flight flight{.kind = Flight::Kind::load,
                .thread = index,
                .feeds = step.feeds,
                .timed = step.timed,
                .marked = step.leads_to != Address{},
                .issued = thread.at,
                .serial = serial,
                .address = step.address,
                .tag = step.tag};
  if (cached(step)) {
    if (!ask_caches(flight, thread.at)) return false;
  } else if (const auto level = found_in_caches(index, step.address)) {
    events_.push(thread.at + *level, {Event::Kind::arrive, flights_.take(flight)});
  } else {
    flight.buffered = true;
    ++thread.buffers;
    launch(flight, config_.read_out);
  }
  thread.instruction += step.instructions;
  thread.loads_out.push_back(thread.instruction);
  ++thread.loads;
  if (step.feeds) thread.feeding = true;
  if (step.timed) thread.program->began(step.tag, thread.at);
  if (!step.again) count_line(index, thread.at);
  thread.at += config_.load_issue;
  return true;
}

void Agent::count_line(std::uint16_t thread, Tick at) {
  if (limits_.leader_lines != 0 && thread == 0 && ++leader_lines_ == limits_.leader_lines) {
    stopped_ = true;
  }
  ++lines_;
  last_at_ = max(last_at_, at);
  if (lines_ == limits_.warm_lines) warm_at_ = at;
  if (lines_ == limits_.lines) stopped_ = true;
}

/// Sends what has left the core at its time of issue, `out` later.
void Agent::launch(const Flight& flight, Tick out) {
  const Index index = flights_.take(flight);
  if ((flight.marks & pretranslation::uncertain) != 0) {
    uncertain_.launched(static_cast<Hierarchy::Miss>(flight.serial), index);
  }
  events_.push(flight.issued + out, {Event::Kind::send, index});
}

void Agent::accepted(Index index, Tick now) {
  const Flight& flight = flights_[index];
  Tick back{};
  switch (flight.kind) {
    case Flight::Kind::load:
    case Flight::Kind::store_line:
    case Flight::Kind::fill:
      back = config_.read_back;
      break;
    case Flight::Kind::nt_store:
      if (flight.timed) threads_[flight.thread].program->done(flight.tag, now);
      back = config_.nt_back;
      break;
    case Flight::Kind::flush:
      back = config_.flush_back;
      break;
    case Flight::Kind::eviction:
      break;
  }
  if (back == Tick{}) {
    arrived(index, now);
  } else {
    events_.push(now + back, {Event::Kind::arrive, index});
  }
}

void Agent::arrived(Index index, Tick now) {
  const Flight flight = flights_[index];
  flights_.give_back(index);
  Thread& thread = threads_[flight.thread];
  if (flight.buffered) --thread.buffers;
  if (flight.release) caches_->release(thread.core, now);
  switch (flight.kind) {
    case Flight::Kind::load:
      if (lines_ >= limits_.warm_lines && (limits_.leader_lines == 0 || flight.thread == 0)) {
        measured_.latency.add((now - flight.issued).ps());
      }
      if (flight.timed) thread.program->done(flight.tag, now);
      --thread.loads;
      if (flight.feeds) thread.feeding = false;
      thread.loads_out[flight.serial - thread.first_load] = done_load;
      while (!thread.loads_out.empty() && thread.loads_out.front() == done_load) {
        thread.loads_out.pop_front();
        ++thread.first_load;
      }
      break;
    case Flight::Kind::store_line:
      --thread.loads;
      thread.store_lines -= flight.store_lines;
      thread.stores[flight.serial - thread.first_store].line_here = true;
      commit_stores(flight.thread, now);
      if (flight.release) resume_core(thread.core, now);
      return;
    case Flight::Kind::nt_store:
      --thread.nt_stores;
      break;
    case Flight::Kind::flush: {
      --thread.unaccepted;
      const Tick free = flight.issued + config_.flush_occupancy;
      if (free > now) {
        events_.push(free, {Event::Kind::flush_free, flight.thread});
      } else {
        --thread.flushes;
        commit_stores(flight.thread, now);
        return;
      }
      break;
    }
    case Flight::Kind::eviction:
      if (config_.cached) {
        caches_->written(thread.core);
        ask_translated(thread.core, now);
        for (std::size_t i = thread.core; i < threads_.size(); i += config_.cores) {
          commit_stores(static_cast<std::uint16_t>(i), now);
        }
        return;
      } else {
        --thread.evictions;
      }
      commit_stores(flight.thread, now);
      return;
    case Flight::Kind::fill:
      fill(flight, frame_of(index), now);
      return;
  }
  if (flight.release) {
    resume_core(thread.core, now);
  } else {
    resume(flight.thread, now);
  }
}

/// A miss register of the core is free: any of its threads may have waited for it.
void Agent::resume_core(std::uint16_t core, Tick now) {
  ask_translated(core, now);
  for (std::size_t i = core; i < threads_.size(); i += config_.cores) {
    resume(static_cast<std::uint16_t>(i), now);
  }
}

/// Queues and buffers are divided evenly among a core's threads.
Agent::Share Agent::share_of(std::size_t core) const {
  const auto threads =
      static_cast<std::uint32_t>((threads_.size() - core + config_.cores - 1) / config_.cores);
  const auto part = [threads](std::uint32_t all) { return std::max(1u, all / threads); };
  return {.load_buffers = part(config_.load_buffers),
          .wc_buffers = part(config_.wc_buffers),
          .store_lines = part(config_.store_lines),
          .store_queue = part(config_.store_queue),
          .flush_buffers = part(config_.flush_buffers),
          .rob = part(config_.rob)};
}

void Agent::resume(std::uint16_t index, Tick now) {
  Thread& thread = threads_[index];
  if (!thread.stores.empty() &&
      (!thread.stores.front().asked || thread.stores.front().kind == QueuedStore::Kind::fence)) {
    commit_stores(index, now);
  } else if (thread.blocked) {
    run_thread(index, now);
  }
}

}  // namespace nearfar::sim::cpu
