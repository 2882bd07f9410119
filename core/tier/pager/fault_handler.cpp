#include "tier/pager/fault_handler.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

FaultResult result_of(const Filled& filled) {
  if (filled.pages != 0) return FaultResult::woken;
  return filled.retry ? FaultResult::retry : FaultResult::resident;
}

}  // namespace

FaultResult FaultHandler::handle(os::Place at, os::Touch touch, os::Waking waking) {
  at = at / page_bytes * page_bytes;
  const bool managed = state_.is_managed(at);
  FaultResult result = FaultResult::resident;
  if (managed) {
    result = serve({.page = state_.number(at), .touch = touch, .waking = waking});
  } else {
    parts_.remap.leave_to_kernel(at);
  }
  if (result == FaultResult::retry) return result;
  if (result == FaultResult::resident) let_go_on(at, touch, waking);
  if (managed && os::writes(touch)) {
    const PageNumber page = state_.number(at);
    if (state_.table.state(page) == State::near) state_.table[page].written = true;
  }
  count();
  return result;
}

FaultResult FaultHandler::serve(const Fault& fault) {
  if (!parts_.fork.is_paused() && !parts_.zeros.finish()) return FaultResult::retry;
  const State found = state_.table.state(fault.page);
  if (parts_.fork.is_paused()) {
    return found == State::near ? settle(fault) : result_of(parts_.fork.bring_in(fault));
  }
  if (parts_.windows.holds(fault.page)) return FaultResult::resident;  // granted since the touch
  // The policy is told of the page when that is there.
  if (found != State::fresh) state_.table.prefetch_for_policy(fault.page);
  switch (found) {
    case State::near:
      return settle(fault);
    case State::limbo:
      return result_of(parts_.page_in.take_back(fault.page, fault.waking));
    case State::fresh:
    case State::far:
      break;
  }
  return bring_in_missing(fault);
}

FaultResult FaultHandler::bring_in_missing(const Fault& fault) {
  if (state_.table.state(fault.page) == State::fresh) {
    if (fault.touch == os::Touch::write_protected && ZeroPages::is_written(state_, fault))
      return result_of(parts_.read_ahead.replace_zeros(fault));
    if (fault.touch == os::Touch::read && parts_.zeros.pays()) {
      const Filled shown = parts_.read_ahead.show_zeros(fault);
      if (shown.pages != 0 || shown.retry) return result_of(shown);
    }
    open_window(fault);
  }
  // In a window that was opened just now the kernel brings it in.
  if (parts_.windows.holds(fault.page)) return FaultResult::resident;
  const Filled filled = parts_.read_ahead.bring_in(fault);
  const bool came = filled.pages != 0 || filled.retry;
  if (!came && ZeroPages::is_written(state_, fault))
    return result_of(parts_.read_ahead.replace_zeros(fault));
  return result_of(filled);
}

/// A fresh page was touched: grants what lies behind it, if the program fills memory in order.
void FaultHandler::open_window(const Fault& fault) {
  FaultWindows& windows = parts_.windows;
  const Windows::Window window = windows.plan(fault.page);
  if (window.pages() == 0) return;
  windows.expect_fresh(window.end);  // the thread may be there as soon as this is granted
  const std::uint64_t charge = windows.charge_of(window);
  if (charge == 0) return;
  const bool charged = windows.is_modest(window) ? parts_.eviction.reserve(charge, fault.waking)
                                                 : state_.budget.try_charge(charge);
  if (charged) windows.grant(window, fault.page);
}

/// A fault on a resident page: it is write-protected, and written to. Or two threads touched it at
/// once, and it is there. Or the program has dropped it by a system call of its own; then it reads
/// as zeros.
FaultResult FaultHandler::settle(const Fault& fault) {
  Page& entry = state_.table[fault.page];
  if (entry.write_protected && os::writes(fault.touch)) return allow_write(fault);
  const Filled filled = parts_.page_in.put_zeros(fault.page, fault.waking);
  if (filled.pages != 0) {
    entry.write_protected = false;
    state_.drop_slot(entry);
  }
  return result_of(filled);
}

/// Lets writes to a write-protected page go on.
FaultResult FaultHandler::allow_write(const Fault& fault) {
  const long error = state_.uffd().unprotect(state_.place(fault.page), page_bytes, fault.waking);
  if (error == -EAGAIN) return FaultResult::retry;
  Page& entry = state_.table[fault.page];
  entry.write_protected = false;
  entry.unchanged = false;
  parts_.protection.broken();
  state_.control.add(Count::protected_writes);
  return error == 0 ? FaultResult::woken : FaultResult::resident;
}

/// The thread touches the page again. What is there may be protected though the page table does not
/// say so: it was when the program gave it back (MADV_FREE), or when the kernel swapped it out, and
/// moved it as it is.
void FaultHandler::let_go_on(os::Place at, os::Touch touch, os::Waking waking) const {
  const os::Uffd& uffd = state_.uffd();
  const bool unprotects = os::writes(touch) && uffd.protects();
  if (!state_.in_region(at)) waking = os::Waking::at_once;
  const bool done = unprotects && uffd.unprotect(at, page_bytes, waking) == 0;
  if (!done && waking == os::Waking::at_once) uffd.wake(at, page_bytes);
}

void FaultHandler::count() {
  constexpr std::uint64_t faults_between_samples = 4096;
  state_.control.add(Count::faults);
  if (parts_.fork.is_paused()) return;
  if (is_sample_due()) {
    sample();
    next_sample_ = state_.faults + faults_between_samples;
  }
  ++state_.faults;
}

void FaultHandler::sample() {
  parts_.windows.close_all();  // their charge says nothing of what is in RAM
  const std::uint64_t all = state_.memory().anonymous_pages();
  const std::uint64_t own = state_.budget.own();
  state_.budget.unmanaged(all > own ? all - own : 0);
}

}  // namespace nearfar::tier
