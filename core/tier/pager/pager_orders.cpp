// What a pager is told while its program runs: another limit, or to bring everything back.

#include "tier/os/clock.h"
#include "tier/pager/pager.h"
#include "tier/pager/sizes.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

Wanted Pager::wanted_cpu() const { return orders_of(control_).where; }

bool Pager::obey_orders() {
  if (is_paused()) return false;
  const Orders& orders = orders_of(control_);
  const std::uint32_t generation = orders.generation.load(std::memory_order_acquire);
  if (generation != followed_) follow(generation);
  return bring_back();
}

void Pager::follow(std::uint32_t generation) {
  Orders& orders = orders_of(control_);
  followed_ = generation;
  (void)budget_.reap();
  if (limit_ != budget_.limit()) {
    limit_ = budget_.limit();
    close_all_windows();
    while (drain(batch()) != 0) {
    }
    limbo_ = Limbo(limbo_pages(limit_));
    streams_ = Streams(stream_pages(limit_));
  }
  Orders::Answer& answer = orders.answers[budget_.index()];
  const Residence residence = orders.residence.load();
  kept_ = residence != Residence::free;
  if (kept_) streams_.stop();
  (void)drop_all_read();
  answer.far_pages.store(kept_ ? count_far() : 0);
  bringing_back_ = residence == Residence::kept;
  next_back_ = 0;
  if (!bringing_back_) answer.generation.store(generation, std::memory_order_release);
}

std::uint64_t Pager::count_far() const {
  const auto end = static_cast<PageNumber>(table_.size());
  std::uint64_t count = 0;
  for (PageNumber page = table_.next_used(0, end); page < end;
       page = table_.next_used(page + 1, end))
    count += table_[page].state == State::far ? 1 : 0;
  return count;
}

/// Brings one run of pages back, so that faults do not wait for more. False if none is to be.
bool Pager::bring_back() {
  if (!bringing_back_) return false;
  const auto end = static_cast<PageNumber>(table_.size());
  const PageNumber first = table_.next_used(next_back_, end);
  if (first == end) {
    bringing_back_ = false;
    orders_of(control_).answers[budget_.index()].generation.store(followed_,
                                                                  std::memory_order_release);
    return false;
  }
  again_ = false;
  const State state = table_.state(first);
  std::size_t run = 1;
  if (state == State::limbo) {
    take_back(first);
  } else if (state == State::far) {
    while (run < longest_run && first + run < end &&
           table_.state(static_cast<PageNumber>(first + run)) == State::far)
      ++run;
    std::size_t done = fill(first, run, state, first);
    if (done == 0 && run > 1 && !again_) done = fill(first, 1, state, first);
    if (done != 0) run = done;
  }
  if (!again_) next_back_ = static_cast<PageNumber>(first + run);
  return true;
}

/// Far memory that does not exist takes time all the same: so much for each page moved, and for
/// the bytes that move.
void Pager::emulate(std::size_t pages, std::size_t bytes) {
  const Orders& orders = orders_of(control_);
  const std::uint64_t delay_ns =
      (orders.latency_ps * pages + orders.transfer_ps * bytes / os::page_bytes) / 1000;
  if (delay_ns == 0) return;
  const std::uint64_t begun = memory_.now_ns();
  os::wait_until(begun + delay_ns);
  control_.add(Count::emulated_ns, delay_ns);
  control_.add(Count::delayed_ns, memory_.now_ns() - begun);
}

}  // namespace nearfar::tier
