#include "tier/service/request_queue.h"

#include <algorithm>

namespace nearfar::tier {

void RequestQueue::start() {
  for (Slot& slot : slots_) {
    slot.phase_.store(empty);
    slot.charged_ = 0;
  }
}

RequestQueue::Slot& RequestQueue::take_slot(const WakeUp& pager) {
  for (std::size_t i = 0;; i = (i + 1) % common_slots) {
    std::uint32_t free = empty;
    if (slots_[i].phase_.compare_exchange_strong(free, writing)) return slots_[i];
    if (i + 1 == common_slots) {
      pager.signal();  // discards that are over have slots until the pager takes them
      os::call(__NR_sched_yield);
    }
  }
}

RequestQueue::Slot& RequestQueue::slot_for(Request::Kind kind, const WakeUp& pager) {
  if (kind != Request::Kind::pause && kind != Request::Kind::resume) return take_slot(pager);
  slots_.back().phase_.store(writing);
  return slots_.back();
}

bool RequestQueue::ask(const Request& request, const WakeUp& pager) {
  Slot& slot = slot_for(request.kind, pager);
  slot.request_ = request;
  slot.phase_.store(posted);
  new_.store(1);
  pager.signal();
  while (slot.phase_.load() == posted) os::wait(slot.phase_, posted);
  const bool granted = slot.granted_;
  slot.phase_.store(empty);
  return granted;
}

RequestQueue::Slot& RequestQueue::begin_discard(os::Place begin, os::Place end, int process,
                                                const WakeUp& pager) {
  Slot& slot = take_slot(pager);
  slot.request_ = {.begin = begin, .end = end};
  slot.process_ = process;
  slot.phase_.store(discarding);
  return slot;
}

void RequestQueue::end_discard(Slot& discard) { discard.phase_.store(over); }

/// The thread that makes a discard may have been killed: one that shares all memory (vfork), whose
/// end is not that of this process.
bool RequestQueue::is_over(const Slot& slot, long process) {
  const std::uint32_t phase = slot.phase_.load();
  if (phase == over) return true;
  return phase == discarding && slot.process_ != process && os::has_ended(slot.process_);
}

std::uint64_t RequestQueue::take_finished_discards(long process) {
  std::uint64_t charged = 0;
  for (Slot& slot : slots_) {
    if (!is_over(slot, process)) continue;
    charged += slot.charged_;
    slot.charged_ = 0;
    slot.phase_.store(empty);
  }
  return charged;
}

RequestQueue::Slot* RequestQueue::find(const os::Message& change) {
  if (change.kind != os::Message::Kind::removed) return nullptr;
  for (Slot& slot : slots_) {
    const std::uint32_t phase = slot.phase_.load();
    if ((phase == discarding || phase == over) && slot.request_.begin <= change.begin &&
        change.end <= slot.request_.end)
      return &slot;
  }
  return nullptr;
}

void RequestQueue::charge_discard_of(const os::Message& change, std::uint64_t pages) {
  if (Slot* const slot = find(change)) slot->charged_ += pages;
}

bool RequestQueue::has_discards() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.charged_ != 0 || slot.phase_.load() == discarding;
  });
}

}  // namespace nearfar::tier
