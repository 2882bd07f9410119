#include "tier/pager/concurrent_copies.h"

namespace nearfar::tier {

PageCopy* ConcurrentCopies::begin(os::Place at, os::Touch touch) {
  at = at / os::page_bytes * os::page_bytes;
  if (!needs_only_copy(at)) return nullptr;
  const PageNumber page = state_.number(at);
  const void* const contents = parts_.far.in_place(page);
  if (contents == nullptr) return nullptr;
  PageCopy* const copy = in_flight_.add(page);
  if (copy == nullptr) return nullptr;
  if (!state_.budget.try_charge(1)) {
    in_flight_.give_up(*copy);
    return nullptr;
  }
  state_.table.prefetch_for_policy(page);
  copy->touch = touch;
  copy->protect = parts_.page_in.protection_for(page, touch);
  copy->copy = {state_.place(page), contents, copy->protect};
  return copy;
}

/// Whether the page is far, and nothing comes with it.
bool ConcurrentCopies::needs_only_copy(os::Place at) const {
  if (parts_.fork.is_paused() || !state_.is_managed(at) || parts_.faults.is_sample_due())
    return false;
  const PageNumber page = state_.number(at);
  if (state_.table.state(page) != State::far || !state_.table[page].stored()) return false;
  return !parts_.windows.holds(page) && !parts_.read_ahead.continues_stream(page);
}

void ConcurrentCopies::complete() {
  in_flight_.complete([this](const PageCopy& copy) { complete(copy); });
}

void ConcurrentCopies::complete(const PageCopy& copy) {
  if (!copy.copy.has_come()) {
    state_.budget.release(1);
    return;
  }
  parts_.arrivals.arrive(copy.page);
  Page& entry = state_.table[copy.page];
  if (os::writes(copy.touch)) entry.written = true;
  if (copy.protect == os::Protect::on) {
    entry.write_protected = true;
    state_.control.add(Count::protected_ins);
  }
  parts_.read_ahead.count_alone(copy.page);
  state_.control.add(Count::copies_in);
  state_.control.add(Count::faults);
  ++state_.faults;
}

}  // namespace nearfar::tier
