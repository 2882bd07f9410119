#include "sim/cpu/agent.h"

/// The agent's stores: on their way through the store queue, or past it.
namespace nearfar::sim::cpu {

bool Agent::drained(const Thread& thread) {
  return thread.nt_stores == 0 && thread.stores.empty() && thread.unaccepted == 0;
}

void Agent::issue_nt_store(std::uint16_t index) {
  Thread& thread = threads_[index];
  const Step& step = thread.step;
  if (caches_) caches_->flush(step.address, false);
  thread.at = max(thread.at, thread.ordered_at);
  ++thread.nt_stores;
  if (step.timed) thread.program->began(step.tag, thread.at);
  launch({.kind = Flight::Kind::nt_store,
          .thread = index,
          .timed = step.timed,
          .issued = thread.at,
          .address = step.address,
          .tag = step.tag},
         config_.nt_out);
  count_line(index, thread.at);
  thread.at += config_.store_issue;
}

bool Agent::issue_store(std::uint16_t index) {
  Thread& thread = threads_[index];
  const Step& step = thread.step;
  Flight flight{.kind = Flight::Kind::store_line,
                .thread = index,
                .issued = thread.at,
                .serial = thread.first_store + thread.stores.size(),
                .address = step.address};
  if (!cached(step)) {
    flight.buffered = true;
    flight.store_lines = 1;
    ++thread.store_lines;
    ++thread.buffers;
    launch(flight, config_.read_out);
  } else if (!ask_caches(flight, thread.at)) {
    return false;
  }
  ++thread.loads;
  thread.stores.push_back({.kind = step.kind == Step::Kind::store_clwb ? QueuedStore::Kind::flush
                                                                       : QueuedStore::Kind::store,
                           .address = step.address});
  if (!step.again) count_line(index, thread.at);
  thread.at += config_.store_issue;
  return true;
}

void Agent::commit_stores(std::uint16_t index, Tick now) {
  Thread& thread = threads_[index];
  while (!thread.stores.empty() && now >= thread.ordered_at) {
    QueuedStore& store = thread.stores.front();
    if (store.kind == QueuedStore::Kind::fence) {
      if (!pass_fence(index, now)) break;
      continue;
    }
    const bool flush = store.kind == QueuedStore::Kind::flush;
    if (!store.line_here && (store.asked || !ask_again(index, now))) break;
    if (!store.line_here) break;
    if (flush && thread.flushes == thread.share.flush_buffers) break;
    if (config_.cached) {
      if (!caches_->commit(thread.core, store.address)) {
        // Its line has been thrown out, or another core has it.
        store.line_here = store.asked = false;
        continue;
      }
    } else if (!flush && !evict_if_full(index, store.address, now)) {
      break;
    }
    if (flush) {
      if (config_.cached) caches_->flush(store.address, config_.clwb_keeps);
      ++thread.flushes;
      ++thread.unaccepted;
      launch(
          {.kind = Flight::Kind::flush, .thread = index, .issued = now, .address = store.address},
          config_.flush_out);
    }
    thread.stores.pop_front();
    ++thread.first_store;
  }
  if (thread.blocked) run_thread(index, now);
}

/// The fence is the oldest store: it goes when all before it has been accepted, and what follows
/// it commits when that is known.
bool Agent::pass_fence(std::uint16_t index, Tick now) {
  Thread& thread = threads_[index];
  if (thread.nt_stores != 0 || thread.unaccepted != 0) return false;
  thread.stores.pop_front();
  ++thread.first_store;
  --thread.fences;
  thread.ordered_at = now + config_.sfence;
  events_.push(thread.ordered_at, {Event::Kind::commit, index});
  return true;
}

bool Agent::evict_if_full(std::uint16_t index, Address address, Tick now) {
  if (dirty_.size() < config_.writeback_lines) {
    dirty_.push_back(address);
    return true;
  }
  // Victims wait in the line buffers, like the lines that push them out.
  if (threads_[index].evictions == threads_[index].share.load_buffers) return false;
  ++threads_[index].evictions;
  if (!dirty_.empty()) std::swap(address, dirty_[rng_.below(dirty_.size())]);
  launch({.kind = Flight::Kind::eviction, .thread = index, .issued = now, .address = address},
         config_.flush_out);
  return true;
}

}  // namespace nearfar::sim::cpu
