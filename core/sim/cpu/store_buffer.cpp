#include "sim/cpu/store_buffer.h"

#include <algorithm>

namespace nearfar::sim::cpu {

StoreBuffer::Number StoreBuffer::push(Kind kind, const Place& place, std::uint32_t size,
                                      std::uint64_t position) {
  const Number number = next_++;
  entry(number) = {.place = place, .position = position, .size = size, .kind = kind};
  if (kind == Kind::store || kind == Kind::nt_store) {
    remember(place.virtual_address.value(), size, number);
  }
  return number;
}

void StoreBuffer::asked(Number number, bool here, Fine at) {
  Entry& store = entry(number);
  store.asked = true;
  store.here = here;
  if (!here) {
    socket_.call_at(coarse(at), core_, is_mine | static_cast<Waiter>(number & ring_mask_));
  }
}

/// Asks for the line of a store, now.
void StoreBuffer::access(Number number) {
  Entry& store = entry(number);
  store.asked = true;
  const Hierarchy::Answer answer =
      socket_.access(core_, store.place, Hierarchy::Kind::store,
                     is_mine | static_cast<Waiter>(number & ring_mask_));
  if (answer.state == Hierarchy::Answer::State::full) {
    refused_.push_back(number);
  } else if (answer.state == Hierarchy::Answer::State::hit) {
    store.here = true;
    store.owns = answer.level >= Hierarchy::Level::l3;
    store.line_at = fine(socket_.now() + answer.latency);
    drain();
  }
}

void StoreBuffer::retire_all(std::uint64_t position, Fine at) {
  for (; unretired_ != next_ && entry(unretired_).position == position; ++unretired_) {
    entry(unretired_).retired = at;
  }
  drain();
}

/// Commits as many as can.
void StoreBuffer::drain() {
  const Fine now = fine(socket_.now());
  while (drained_ != unretired_) {
    Entry& store = entry(drained_);
    const Fine at =
        std::max({store.retired, last_commit_ + period_, ordered_at_, now, store.line_at});
    if (!commit(drained_, at)) return;
    store.commit = std::max(at, ordered_at_);
    last_commit_ = at;
    ++drained_;
  }
}

bool StoreBuffer::commit(Number number, Fine at) {
  switch (entry(number).kind) {
    case Kind::store:
      return commit_store(number, at);
    case Kind::nt_store:
      return combine(entry(number), at);
    case Kind::flush_keep:
    case Kind::flush_drop:
      return commit_flush(entry(number), at);
    case Kind::fence:
    case Kind::full_fence:
      return commit_fence(entry(number), at);
  }
  return true;
}

bool StoreBuffer::commit_store(Number number, Fine at) {
  Entry& store = entry(number);
  if (!store.here && store.asked) return false;
  Hierarchy& caches = socket_.caches();
  const Address line = store.place.physical;
  if (store.here && caches.owned(core_, line)) return true;
  if (later(at)) return false;
  const bool mine = store.here && (store.owns || !caches.elsewhere(core_, line));
  if (mine && caches.commit(core_, line)) return true;
  // Its line has been thrown out, or another core has it.
  store.here = store.owns = false;
  store.line_at = 0;
  access(number);
  return false;
}

bool StoreBuffer::combine(const Entry& store, Fine at) {
  const std::uint64_t line = store.place.physical.block(line_bytes);
  auto open = std::find_if(open_.begin(), open_.end(),
                           [&](const Open& other) { return other.line == line; });
  if (open == open_.end()) {
    if (open_.size() + nt_sent_ >= socket_.config().wc_buffers) {
      // Lines that wait for their other bytes make room, all at once: one at a time, each would
      // wait for the one before to be accepted.
      while (!open_.empty()) send(0, at);
      return false;
    }
    open_.push_back({.line = line});
    open = open_.end() - 1;
  }
  const std::uint64_t bytes =
      store.size >= line_bytes ? ~std::uint64_t{0} : (std::uint64_t{1} << store.size) - 1;
  open->bytes |= bytes << (store.place.physical.value() % line_bytes);
  if (open->bytes == ~std::uint64_t{0}) send(static_cast<std::size_t>(open - open_.begin()), at);
  return true;
}

void StoreBuffer::send(std::size_t index, Fine at) {
  const Open open = open_[index];
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
  ++counts_.nt_lines;
  if (open.bytes != ~std::uint64_t{0}) ++counts_.nt_partial;
  const Address line(open.line * line_bytes);
  socket_.caches().flush(line, false);
  ++nt_sent_;
  socket_.nt_store(core_, line, coarse(at));
}

bool StoreBuffer::commit_flush(const Entry& flush, Fine at) {
  if (later(at)) return false;
  if (flushes_ == socket_.config().flush_buffers) return false;
  const bool keep = flush.kind == Kind::flush_keep && socket_.config().clwb_keeps;
  ++counts_.flushes;
  if (socket_.caches().flush(flush.place.physical, keep)) {
    ++counts_.flushes_dirty;
    ++flushes_;
    ++unaccepted_;
    socket_.flush(core_, flush.place.physical.aligned_down(line_bytes));
  }
  return true;
}

bool StoreBuffer::commit_fence(const Entry& fence, Fine at) {
  while (!open_.empty()) send(0, at);
  if (nt_sent_ != 0 || unaccepted_ != 0) return false;
  const bool full = fence.kind == Kind::full_fence;
  ordered_at_ = at + fine(full ? socket_.config().mfence : socket_.config().sfence);
  socket_.fence(core_, full, coarse(at));
  return true;
}

/// What changes the caches happens at its time: if that has not come, an event goes on then.
bool StoreBuffer::later(Fine at) {
  const Tick time = coarse(at);
  if (time <= socket_.now()) return false;
  if (time < drain_at_) {
    drain_at_ = time;
    socket_.call_at(time, core_, drain_token);
  }
  return true;
}

void StoreBuffer::arrived(Waiter waiter, Tick now) {
  Entry& store = entry(waiter & ~is_mine);
  store.here = store.owns = true;
  store.line_at = fine(now);
  drain();
}

void StoreBuffer::due(Waiter token, Tick) {
  if (token == drain_token) {
    drain_at_ = Tick::never();
    drain();
    return;
  }
  access(waiting(token));
}

void StoreBuffer::translated(Waiter waiter) {
  const Number number = waiting(waiter);
  entry(number).place.translated = true;
  access(number);
}

/// The store that the socket knows by that token: the only one not drained in its place of the
/// ring.
StoreBuffer::Number StoreBuffer::waiting(Waiter token) const {
  const Number place = token & ~is_mine;
  return drained_ + ((place - drained_) & ring_mask_);
}

void StoreBuffer::retry(Tick) {
  std::vector<Number> again;
  again.swap(refused_);
  for (const Number number : again) access(number);
  drain();
}

void StoreBuffer::nt_stored(Tick) {
  --nt_sent_;
  drain();
}

void StoreBuffer::flushed(Tick) {
  --unaccepted_;
  drain();
}

void StoreBuffer::flush_freed(Tick) {
  --flushes_;
  drain();
}

}  // namespace nearfar::sim::cpu
